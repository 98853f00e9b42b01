import type { RadiusConfig } from '../model/sign-in.ts'

/** How far a login got. `stage` is the last one that was tried. */
export interface RadiusTested {
  readonly stage: 'resolve' | 'connect' | 'authenticate' | 'authorize'
  readonly ok: boolean
  readonly message: string
  /** What the answer holds in the group attribute. */
  readonly values: readonly string[]
  /** Ids of the groups that this gives. */
  readonly groups: readonly string[]
  readonly attempts: readonly {
    readonly host: string
    readonly port: number
    readonly address: string
    readonly outcome: string
  }[]
}

export interface RadiusProbe {
  /** Asks the servers of `config`, stored or not. Refuses with TOO_MANY_AT_ONCE. */
  test(config: RadiusConfig, username: string, password: string): Promise<RadiusTested>
}
