import { endpointId, grantedEndpoints } from '../api/access.ts'
import type { Endpoint } from '../api/endpoint.ts'
import type { Where } from '../model/access.ts'
import type { ConfigView } from '../model/sections.ts'
import { confinable } from '../model/confined.ts'
import { validity } from '../base/validity.ts'
import { Area } from '../rules/confined.ts'
import type { OwnAccount } from '../context/accounts.ts'
import { LOCAL_ROOT } from './local-root.ts'
import type { Introduction } from './introduction.ts'
import { type Principal, principalOf } from './principal.ts'
import type { Principals } from './principals.ts'

/** Value of a flag: the endpoint is granted for every record. */
export const WHOLLY = 1
/** Granted for the records of an area only. A caller that compares with `WHOLLY`, and ignores areas, refuses this. */
export const IN_PART = 2

/** The rights of one user: `granted[i]` is for the endpoint at index i of the table. */
export interface Rights {
  readonly userId: string
  /** Login name: an e-mail address, except for RADIUS users. */
  readonly email: string
  readonly granted: Uint8Array
  /** Areas of the partly granted endpoints, by index; undefined if there are none. */
  readonly areas?: ReadonlyMap<number, Area> | undefined
  /** Whether it has no account here, and so no access to account endpoints: a program with a token, or local root. */
  readonly isProgram?: true
  /** Whether nothing is granted until a second factor is set up. */
  readonly mustEnrol?: true
  /** Ids of the endpoints to which its token is limited. */
  readonly endpoints?: readonly string[] | undefined
}

interface Compiled {
  readonly flags: Uint8Array
  /** Conditions by index. */
  readonly wheres: ReadonlyMap<number, readonly Where[]>
}

/** Lists grow in place, because a role may have thousands of conditions. */
function addTo(wheres: Map<number, Where[]>, place: number, where: Where): void {
  const known = wheres.get(place)
  if (known === undefined) wheres.set(place, [where])
  else known.push(where)
}

/**
 * Compiles the roles of running into one flag per user and endpoint. Call `invalidate` after a change of users, groups
 * or roles.
 */
export class Permissions {
  readonly #table: readonly Endpoint[]
  readonly #running: ConfigView
  readonly #principals: Principals
  readonly #rights = new Map<string, Rights>()
  /** Rights of introduced users, for as long as a session holds the introduction. */
  #ofIntroduced = new WeakMap<Introduction, Rights>()
  #roles: ReadonlyMap<string, Compiled> | undefined
  /** Ids of the endpoints, in the order of the table. */
  #ids: readonly string[] | undefined

  constructor(table: readonly Endpoint[], running: ConfigView, principals: Principals) {
    this.#table = table
    this.#running = running
    this.#principals = principals
  }

  invalidate(): void {
    this.#rights.clear()
    this.#ofIntroduced = new WeakMap()
    this.#roles = undefined
    validity.endRights()
  }

  /** Forgets one user; roles stay compiled. An introduced user may have had the same name. */
  forget(userId: string): void {
    this.#rights.delete(userId)
    this.#ofIntroduced = new WeakMap()
    validity.endRights()
  }

  /** Undefined if the user is neither in running nor introduced by a live session, or is disabled. */
  of(userId: string): Rights | undefined {
    const known = this.#rights.get(userId)
    if (known !== undefined) return known
    const user = principalOf(this.#running, userId)
    // A user under this id, which only a restored file can bring, must not have more rights than the roles say.
    if (user === undefined && userId === LOCAL_ROOT.userId) return this.#ofLocalRoot()
    if (user === undefined) return this.#introduced(this.#principals.introductionOf(userId))
    if (user.disabled) return undefined
    const rights = this.#rightsOf(user)
    this.#rights.set(userId, rights)
    return rights
  }

  /** Not granted by a role, so it can be neither given nor taken away. */
  #ofLocalRoot(): Rights {
    const { userId, email } = LOCAL_ROOT
    const rights = { userId, email, granted: new Uint8Array(this.#table.length).fill(WHOLLY), isProgram: true } as const
    this.#rights.set(userId, rights)
    return rights
  }

  #introduced(introduction: Introduction | undefined): Rights | undefined {
    if (introduction === undefined) return undefined
    const known = this.#ofIntroduced.get(introduction)
    if (known !== undefined) return known
    const who = this.#principals.introduced(introduction)
    if (who === undefined) return undefined
    const rights = this.#rightsOf(who)
    this.#ofIntroduced.set(introduction, rights)
    return rights
  }

  #rightsOf(user: Principal): Rights {
    return { userId: user.id, email: user.name, ...this.#union(user) }
  }

  /** Limits the rights to these endpoints. */
  narrowed(rights: Rights, endpoints: readonly string[] | undefined): Rights {
    const wanted = endpoints === undefined ? undefined : new Set(endpoints)
    this.#ids ??= this.#table.map((endpoint) => endpointId(endpoint))
    const ids = this.#ids
    const granted = rights.granted.map((flag, place) => (wanted?.has(ids[place] ?? '') === false ? 0 : flag))
    return { ...rights, granted, isProgram: true, endpoints }
  }

  /** Returns the rights as ids of endpoints. */
  told(rights: Rights | undefined): Pick<OwnAccount, 'endpoints' | 'confined'> {
    this.#ids ??= this.#table.map((endpoint) => endpointId(endpoint))
    const ids = this.#ids
    const endpoints = ids.filter((_, place) => (rights?.granted[place] ?? 0) !== 0)
    const confined = ids.flatMap((endpoint, place) => {
      const area = rights?.granted[place] === IN_PART ? rights.areas?.get(place) : undefined
      return (area?.wheres ?? []).map((where) => ({ endpoint, where }))
    })
    return { endpoints, confined }
  }

  #held({ roles, groups }: Principal): readonly Compiled[] {
    this.#roles ??= this.#compile()
    const compiled = this.#roles
    const held = new Set(roles)
    for (const id of groups) for (const role of this.#running.get('groups', id)?.roles ?? []) held.add(role)
    return [...held].flatMap((id) => compiled.get(id) ?? [])
  }

  #union(user: Principal): Pick<Rights, 'granted' | 'areas'> {
    const granted = new Uint8Array(this.#table.length)
    const wheres = new Map<number, Where[]>()
    for (const role of this.#held(user)) {
      for (let i = 0; i < granted.length; i++) if (role.flags[i] === WHOLLY) granted[i] = WHOLLY
      for (const [place, more] of role.wheres) for (const where of more) addTo(wheres, place, where)
    }
    const areas = this.#areas(granted, wheres)
    for (const place of areas.keys()) granted[place] = IN_PART
    return areas.size === 0 ? { granted } : { granted, areas }
  }

  /** Returns the areas. A right that one role grants wholly is not reduced by another role that grants it partly. */
  #areas(granted: Uint8Array, wheres: ReadonlyMap<number, readonly Where[]>): ReadonlyMap<number, Area> {
    const areas = new Map<number, Area>()
    for (const [place, all] of wheres) {
      const section = confinable(this.#table[place]?.name ?? '')
      if (section !== undefined && granted[place] !== WHOLLY) areas.set(place, new Area(section, all))
    }
    return areas
  }

  #compile(): ReadonlyMap<string, Compiled> {
    this.#ids ??= this.#table.map((endpoint) => endpointId(endpoint))
    const ids = this.#ids
    const compiled = new Map<string, Compiled>()
    for (const role of this.#running.list('roles')) {
      const granted = grantedEndpoints(role, this.#table)
      const wheres = new Map<number, Where[]>()
      for (const { endpoint, where } of role.confined ?? []) {
        const place = ids.indexOf(endpoint)
        if (place >= 0) addTo(wheres, place, where)
      }
      compiled.set(role.id, { flags: Uint8Array.from(ids, (id) => (granted.has(id) ? WHOLLY : 0)), wheres })
    }
    return compiled
  }
}
