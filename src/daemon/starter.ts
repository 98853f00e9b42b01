/** A daemon's reports to the process that started it with a channel, instead of a terminal. */
export type Report =
  /** The API answers. */
  | {
      readonly state: 'listens'
      readonly email?: string | undefined
      /** The generated password of the first administrator. */
      readonly password?: string | undefined
    }
  /** The machine matches the configuration; reported again after each restart of the appliance. */
  | { readonly state: 'runs'; readonly demoUrl?: string | undefined }

export interface Starter {
  tell(report: Report): void
  /** Resolves when the starter is gone, however it ended: the daemon does not outlive it. */
  readonly gone: Promise<void>
}

/** Returns undefined for a daemon that was started without a channel. */
export function starterOf(self: Pick<NodeJS.Process, 'connected' | 'once' | 'send'> = process): Starter | undefined {
  if (self.send === undefined) return undefined
  return {
    // A failed report needs no answer: the channel closed in the same moment.
    tell: (report) => void self.send?.(report, undefined, undefined, () => undefined),
    gone: new Promise((resolve) => {
      self.once('disconnect', () => resolve())
      if (!self.connected) resolve()
    }),
  }
}
