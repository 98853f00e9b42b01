/** What a daemon tells the process that started it with a channel, instead of a terminal. */
export type Report =
  /** The API answers. */
  | {
      readonly state: 'listens'
      readonly email?: string | undefined
      /** The made-up one of the first administrator. */
      readonly password?: string | undefined
    }
  /** The machine is as it is configured; again after each beginning anew. */
  | { readonly state: 'runs'; readonly demoUrl?: string | undefined }

export interface Starter {
  tell(report: Report): void
  /** Resolves when it is gone, however it ended: what it started does not outlive it. */
  readonly gone: Promise<void>
}

/** Undefined for a daemon that nobody started with a channel. */
export function starterOf(self: Pick<NodeJS.Process, 'connected' | 'once' | 'send'> = process): Starter | undefined {
  if (self.send === undefined) return undefined
  return {
    // A child that ended in the same moment needs to know nothing.
    tell: (report) => void self.send?.(report, undefined, undefined, () => undefined),
    gone: new Promise((resolve) => {
      self.once('disconnect', () => resolve())
      if (!self.connected) resolve()
    }),
  }
}
