import { join } from 'node:path'
import type { ConfigStore } from '../../storage/config/config-store.ts'
import type { Endpoint } from '../api/endpoint.ts'
import type { Clock } from '../clock.ts'
import { ApiError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { ConfigView, RecordChange, SectionName } from '../model/sections.ts'
import { FirstPassword } from './first-password.ts'
import { type FirstAdministrator, prepareAccess } from './first-start.ts'
import { Lockout } from './lockout.ts'
import { PasswordLogin } from './login.ts'
import { Passwords } from './password.ts'
import { Permissions, type Rights } from './permissions.ts'
import { Sessions } from './sessions.ts'
import { Tokens } from './token.ts'

export interface AccessParts {
  readonly store: ConfigStore
  readonly running: ConfigView
  readonly endpoints: readonly Endpoint[]
  readonly stateFolder: string
  readonly clock: Clock
  readonly log: Log
  readonly administrator: { readonly email: string; readonly password: string | undefined }
}

/** Who may come in, and what they may do: the parts of access control, put together. */
export class AccessControl {
  readonly passwords: Passwords
  /** For passwords that administrators set: a flood of logins must not keep them waiting. */
  readonly hashing = new Passwords()
  readonly sessions: Sessions
  readonly login: PasswordLogin
  /** Set when this start made the first administrator. */
  readonly firstAdministrator: FirstAdministrator | undefined
  readonly #permissions: Permissions
  /** Place of each endpoint in the table. */
  readonly #places: ReadonlyMap<string, number>

  private constructor(parts: AccessParts, passwords: Passwords, first: FirstAdministrator | undefined) {
    const { store, running, endpoints, stateFolder, clock, log } = parts
    this.passwords = passwords
    this.firstAdministrator = first
    this.sessions = new Sessions(store.sessions, new Tokens(join(stateFolder, 'token-key.pem')), clock)
    const file = new FirstPassword(stateFolder)
    this.login = new PasswordLogin(running, passwords, this.sessions, new Lockout(clock), file, log)
    this.#permissions = new Permissions(endpoints, running)
    this.#places = new Map(endpoints.map(({ name }, place) => [name, place]))
  }

  static async open(parts: AccessParts): Promise<AccessControl> {
    const passwords = new Passwords()
    const first = await prepareAccess(parts.store, passwords, parts.clock, parts.administrator)
    return new AccessControl(parts, passwords, first)
  }

  authenticate(token: string): { readonly rights: Rights; readonly sessionId: string } | ApiError {
    const session = this.sessions.authenticate(token)
    if (session === 'expired') return new ApiError('TOKEN_EXPIRED', 'The token has expired; log in again')
    if (session === 'invalid') return new ApiError('UNAUTHENTICATED', 'This is not a token of this daemon; log in')
    const rights = this.#permissions.of(session.userId)
    if (rights === undefined) return new ApiError('UNAUTHENTICATED', 'The user of this token is gone or disabled')
    return { rights, sessionId: session.id }
  }

  /** Whether a role of this user grants the endpoint with this name. */
  may(userId: string, endpoint: string): boolean {
    const place = this.#places.get(endpoint)
    if (place === undefined) throw new Error(`there is no endpoint named ${endpoint}`)
    return this.#permissions.of(userId)?.granted[place] === 1
  }

  /** New rights count from the next request on; who is gone, disabled or has another password is logged out. */
  async onPromoted(changes: readonly RecordChange[]): Promise<void> {
    // Compiling all roles takes milliseconds, which the next poller would wait: most applies are about servers.
    if (changes.some(({ section }) => OF_RIGHTS.has(section))) this.#permissions.invalidate()
    const ended = new Set(changes.filter(endsSessions).map((change) => change.id))
    if (ended.size > 0) await this.sessions.end((session) => ended.has(session.userId))
  }
}

/** The sections that rights are made of. */
const OF_RIGHTS: ReadonlySet<SectionName> = new Set(['users', 'groups', 'roles'])

function endsSessions(change: RecordChange): boolean {
  if (change.section !== 'users') return false
  if (change.after === undefined || change.after.disabled) return true
  return change.before !== undefined && change.before.passwordHash !== change.after.passwordHash
}
