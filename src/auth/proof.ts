import type { Actor } from '../context/actor.ts'
import { ApiError } from '../base/errors.ts'
import type { User } from '../model/access.ts'
import type { ConfigView } from '../model/sections.ts'
import type { Lockout } from './lockout.ts'
import type { Passwords } from './password.ts'
import { siteOf } from './place.ts'
import type { Principals } from './principals.ts'

export interface ProofParts {
  readonly running: ConfigView
  readonly principals: Principals
  readonly passwords: Passwords
  readonly lockout: Lockout
}

const ELSEWHERE = 'The password and second factor of this user are managed by a RADIUS server or an identity provider'

/** Proof that the caller is the person whose session it is. */
export class Proof {
  readonly #parts: ProofParts

  constructor(parts: ProofParts) {
    this.#parts = parts
  }

  /** Returns the user if the password is right. */
  async password(actor: Actor, address: string, password: string): Promise<User> {
    const user = this.local(actor.userId)
    const isRight = await this.counted(user.email, address, () =>
      this.#parts.passwords.verify(user.passwordHash, password, siteOf(address)),
    )
    // Read again, to include what was applied while the hash was computed.
    const now = this.local(actor.userId)
    if (isRight && now.passwordHash === user.passwordHash) return now
    throw new ApiError('INVALID_CREDENTIALS', 'The password is wrong')
  }

  async counted(account: string, place: string, work: () => Promise<boolean>): Promise<boolean> {
    const settle = this.#parts.lockout.begin(account, place)
    let outcome: boolean | undefined
    try {
      outcome = await work()
      return outcome
    } finally {
      settle(outcome)
    }
  }

  local(userId: string, otherwise = ELSEWHERE): User {
    const { running, principals } = this.#parts
    const user = running.get('users', userId)
    if (user !== undefined) return user
    if (running.get('radiusUsers', userId) === undefined && principals.of(userId) === undefined) {
      throw new ApiError('NOT_FOUND', `There is no user ${userId}, or it is not applied yet`)
    }
    throw new ApiError('NOT_SUPPORTED', otherwise)
  }
}

/** Refuses if an apply has changed, or removed, the password or the second factor that was proven. */
export function assertUnchanged(proven: User, now: User | undefined): void {
  const isSame =
    now !== undefined &&
    !now.disabled &&
    now.passwordHash === proven.passwordHash &&
    now.secondFactor?.secret === proven.secondFactor?.secret
  if (!isSame) throw new ApiError('INVALID_CREDENTIALS', 'Your account has changed; log in again')
}
