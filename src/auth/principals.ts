import { SHARED } from '../model/node.ts'
import type { ConfigView } from '../model/sections.ts'
import { introduced, type Introduction } from './introduction.ts'
import { type Principal, principalOf } from './principal.ts'
import type { Via } from './sessions.ts'

/** Where the ways to log in are configured for which others vouch. */
const VOUCHERS = { radius: 'radiusConfigs', saml: 'samlConfigs', oidc: 'oidcConfigs' } as const

/**
 * All users who can hold a session, by id: users with a record in running, and users introduced by an identity
 * provider.
 */
export class Principals {
  readonly #running: ConfigView
  /** Returns the introduction that a live session holds for this user. */
  readonly introductionOf: (userId: string) => Introduction | undefined

  constructor(running: ConfigView, introductionOf: (userId: string) => Introduction | undefined) {
    this.#running = running
    this.introductionOf = introductionOf
  }

  /** `introduction` is that of a session, if the caller has it. */
  of(userId: string, introduction?: Introduction): Principal | undefined {
    const recorded = principalOf(this.#running, userId)
    if (recorded !== undefined) return recorded
    const said = introduction ?? this.introductionOf(userId)
    return said === undefined ? undefined : this.introduced(said)
  }

  /** Returns whether this way to log in is switched on; the password of a local user always is. */
  isOn(via: Via): boolean {
    return via === 'password' || this.#running.get(VOUCHERS[via], SHARED)?.enabled === true
  }

  introduced(introduction: Introduction): Principal | undefined {
    const who = introduced(this.#running, introduction)
    return typeof who === 'string' ? undefined : who
  }
}
