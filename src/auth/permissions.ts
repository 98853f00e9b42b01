import { endpointId, grantedEndpoints } from '../api/access.ts'
import type { Endpoint } from '../api/endpoint.ts'
import type { ConfigView } from '../model/sections.ts'
import { type Principal, principalOf } from './principal.ts'

/** What one user may do: `granted[i]` for the endpoint at place i of the table. */
export interface Rights {
  readonly userId: string
  /** Login name: an e-mail, but for users of RADIUS. */
  readonly email: string
  readonly granted: Uint8Array
  /** A program with a token, which may not do what belongs to a person's own account. */
  readonly isProgram?: true
  /** Ids of the endpoints that its token is limited to. */
  readonly endpoints?: readonly string[] | undefined
}

/**
 * Compiles the roles of running into one flag per user and endpoint. Call `invalidate` after each promotion that
 * touches users, groups or roles.
 */
export class Permissions {
  readonly #table: readonly Endpoint[]
  readonly #running: ConfigView
  readonly #rights = new Map<string, Rights | undefined>()
  #roles: ReadonlyMap<string, Uint8Array> | undefined
  /** Of the endpoints, in the order of the table. */
  #ids: readonly string[] | undefined

  constructor(table: readonly Endpoint[], running: ConfigView) {
    this.#table = table
    this.#running = running
  }

  invalidate(): void {
    this.#rights.clear()
    this.#roles = undefined
  }

  /** undefined: the user is not in running, or disabled. */
  of(userId: string): Rights | undefined {
    const known = this.#rights.get(userId)
    if (known !== undefined) return known
    const user = principalOf(this.#running, userId)
    if (user === undefined || user.disabled) return undefined
    const rights = { userId, email: user.name, granted: this.#union(user) }
    this.#rights.set(userId, rights)
    return rights
  }

  /** No more than the user may, and of that only these endpoints. */
  narrowed(rights: Rights, endpoints: readonly string[] | undefined): Rights {
    const wanted = endpoints === undefined ? undefined : new Set(endpoints)
    this.#ids ??= this.#table.map((endpoint) => endpointId(endpoint))
    const ids = this.#ids
    const granted = rights.granted.map((flag, place) => (wanted?.has(ids[place] ?? '') === false ? 0 : flag))
    return { ...rights, granted, isProgram: true, endpoints }
  }

  #union(user: Principal): Uint8Array {
    this.#roles ??= this.#compile()
    const held = new Set(user.roles)
    for (const id of user.groups) for (const role of this.#running.get('groups', id)?.roles ?? []) held.add(role)
    const granted = new Uint8Array(this.#table.length)
    for (const role of held) {
      const flags = this.#roles.get(role)
      for (let i = 0; i < granted.length; i++) if (flags?.[i] === 1) granted[i] = 1
    }
    return granted
  }

  #compile(): ReadonlyMap<string, Uint8Array> {
    this.#ids ??= this.#table.map((endpoint) => endpointId(endpoint))
    const ids = this.#ids
    const compiled = new Map<string, Uint8Array>()
    for (const role of this.#running.list('roles')) {
      const granted = grantedEndpoints(role, this.#table)
      compiled.set(
        role.id,
        Uint8Array.from(ids, (id) => (granted.has(id) ? 1 : 0)),
      )
    }
    return compiled
  }
}
