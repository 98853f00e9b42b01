/** Which of the pending changes go live: all of them, when nothing is said. */
export interface Choice {
  /** Ids. */
  readonly changes?: readonly string[] | undefined
  /** Those that the caller has made last. */
  readonly mine?: boolean | undefined
}

export interface ApplyOptions extends Choice {
  readonly force: 'restart' | undefined
  readonly comment?: string | undefined
  /** Seconds after which the apply is taken back unless it was confirmed. */
  readonly confirmWithin?: number | undefined
  /** Also when it could cut the caller off. */
  readonly isForced?: boolean | undefined
}
export interface Applied {
  readonly applyId: string
  readonly revision: number
  /** ISO 8601; undefined when no confirmation is needed. */
  readonly confirmBy: string | undefined
  /** Some of it was only recorded, because the profile keeps hands off the machine. */
  readonly isDryRun: boolean
  readonly warnings: readonly string[]
}
