import type { SessionData } from '../api/context.ts'
import { ApiError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { ConfigView, SectionRecords } from '../model/sections.ts'
import type { FirstPassword } from './first-password.ts'
import type { Lockout } from './lockout.ts'
import type { Passwords } from './password.ts'
import type { Sessions } from './sessions.ts'

/** Logs a local user in. Unknown e-mail and wrong password are the same answer after the same work. */
export class PasswordLogin {
  readonly #running: ConfigView
  readonly #passwords: Passwords
  readonly #sessions: Sessions
  readonly #lockout: Lockout
  readonly #firstPassword: FirstPassword
  readonly #log: Log

  constructor(
    running: ConfigView,
    passwords: Passwords,
    sessions: Sessions,
    lockout: Lockout,
    firstPassword: FirstPassword,
    log: Log,
  ) {
    this.#running = running
    this.#firstPassword = firstPassword
    this.#passwords = passwords
    this.#sessions = sessions
    this.#lockout = lockout
    this.#log = log
  }

  async login(email: string, password: string, address: string): Promise<SessionData> {
    const settle = this.#lockout.begin(email, address)
    const known = this.#find(email)
    // An attempt that could not be judged, because too many were under way, is nobody's failure.
    let outcome: boolean | undefined
    try {
      outcome = await this.#passwords.verify(known?.passwordHash, password)
    } finally {
      settle(outcome)
    }
    // Read again: what was applied while the hash was computed counts.
    const user = this.#find(email)
    if (!outcome || user === undefined || user.passwordHash !== known?.passwordHash) {
      this.#log.warn('login refused', { account: email, address })
      throw new ApiError('INVALID_CREDENTIALS', 'The e-mail or the password is wrong')
    }
    if (user.disabled) throw new ApiError('USER_DISABLED', 'This user is disabled; ask an administrator')
    const { token } = await this.#sessions.create(user.id, address)
    await this.#firstPassword.forget()
    return { user: { id: user.id, email: user.email, name: `${user.firstName} ${user.lastName}`.trim() }, token }
  }

  #find(email: string): SectionRecords['users'] | undefined {
    const wanted = email.toLowerCase()
    for (const user of this.#running.list('users')) if (user.email.toLowerCase() === wanted) return user
    return undefined
  }
}
