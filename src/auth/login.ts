import type { SessionData } from '../api/context.ts'
import { ApiError } from '../errors.ts'
import type { ConfigView, SectionRecords } from '../model/sections.ts'
import type { Lockout } from './lockout.ts'
import type { Passwords } from './password.ts'
import type { Sessions } from './sessions.ts'

/** Logs a local user in. Unknown e-mail and wrong password are the same answer after the same work. */
export class PasswordLogin {
  readonly #running: ConfigView
  readonly #passwords: Passwords
  readonly #sessions: Sessions
  readonly #lockout: Lockout

  constructor(running: ConfigView, passwords: Passwords, sessions: Sessions, lockout: Lockout) {
    this.#running = running
    this.#passwords = passwords
    this.#sessions = sessions
    this.#lockout = lockout
  }

  async login(email: string, password: string, address: string): Promise<SessionData> {
    const settle = this.#lockout.begin(email, address)
    const user = this.#find(email)
    let verified = false
    try {
      verified = await this.#passwords.verify(user?.passwordHash, password)
    } finally {
      settle(verified)
    }
    if (!verified || user === undefined) {
      throw new ApiError('INVALID_CREDENTIALS', 'The e-mail or the password is wrong')
    }
    if (user.disabled) throw new ApiError('USER_DISABLED', 'This user is disabled; ask an administrator')
    const { token } = await this.#sessions.create(user.id, address)
    return { user: { id: user.id, email: user.email, name: `${user.firstName} ${user.lastName}`.trim() }, token }
  }

  #find(email: string): SectionRecords['users'] | undefined {
    const wanted = email.toLowerCase()
    for (const user of this.#running.list('users')) if (user.email.toLowerCase() === wanted) return user
    return undefined
  }
}
