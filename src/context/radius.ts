import type { RadiusConfig } from '../model/sign-in.ts'

/** How far a login got. `stage` is the last one attempted. */
export interface RadiusTested {
  readonly stage: 'resolve' | 'connect' | 'authenticate' | 'authorize'
  readonly ok: boolean
  readonly message: string
  /** The values of the group attribute in the answer. */
  readonly values: readonly string[]
  /** Ids of the groups that result. */
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
