import { effect, signal, type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { ask, changes, PAGE, type Query, read, readAll, Refused, underWay } from './api.ts'
import { self } from './live.ts'
import { movesOf } from './moves.ts'
import { isSeen } from './seen.ts'
import { whenForgotten } from './session.ts'

/** Lists of the API, kept while somebody shows them and read again after each change. */

export interface Listed<T> {
  /** Undefined until they came. */
  readonly records: readonly T[] | undefined
  /** The first of them, which come sooner if there are thousands: for components that show no more. */
  readonly first: readonly T[] | undefined
  readonly problem: string | undefined
  /** Not for this user. */
  readonly isHidden?: boolean
}

export interface RecordLike {
  readonly id: string
  readonly name?: string
}

interface Kept {
  readonly listed: Signal<Listed<unknown>>
  /** How often it was read, and the number of the reading that is shown. */
  asked: number
  told: number
  users: number
  stop: (() => void) | undefined
  /** The next reading of what was refused for now. */
  again: ReturnType<typeof setTimeout> | undefined
}

const kept = new Map<string, Kept>()

/** Size of the first page of a list that is not known yet; more than the first screen shows. */
const FIRST = 100

/** Not for this user, or not there. An overloaded daemon refuses as well, temporarily. */
const HIDDEN: ReadonlySet<number> = new Set([403, 404])
const FOR_NOW: ReadonlySet<number> = new Set([429, 503])
const AGAIN_MS = 5_000

/** Asks again for what an overloaded daemon has refused; a user who comes back to the page reads everything anyway. */
const soonAgain = (error: unknown, look: () => void): ReturnType<typeof setTimeout> | undefined =>
  error instanceof Refused && FOR_NOW.has(error.status)
    ? setTimeout(() => {
        if (isSeen.peek()) look()
      }, AGAIN_MS)
    : undefined

/** Some lists stand in an object, under a name. */
const listIn = (data: unknown): readonly unknown[] =>
  [data, ...Object.values(Object(data))].find((one): one is readonly unknown[] => Array.isArray(one)) ?? []

const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
/** What thousands of records take is not taken from the first screen. */
async function whenDrawn(): Promise<void> {
  while (underWay.peek() > 0) await frame()
  await frame()
}

async function load(path: string, one: Kept): Promise<void> {
  const { listed } = one
  const own = (one.asked += 1)
  clearTimeout(one.again)
  /** Answers may overtake each other. */
  function tell(now: Listed<unknown>): void {
    if (own < one.told) return
    one.told = own
    listed.value = now
  }
  try {
    // An effect calls this, and is not to be called again for what comes.
    const isNew = listed.peek().records === undefined
    const limit = isNew ? FIRST : PAGE
    const { data, next } = await ask<unknown>('GET', path, { query: { limit } })
    const first = listIn(data)
    if (next !== undefined && isNew) {
      tell({ ...listed.value, first })
      await whenDrawn()
    }
    const records = next === undefined ? first : [...first, ...(await readAll(path, {}, next))]
    tell({ records, first: records, problem: undefined })
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    // What may be seen no longer is not shown; where nobody answers now, what was seen last is still there.
    if (error instanceof Refused && HIDDEN.has(error.status))
      tell({ records: undefined, first: undefined, problem, isHidden: true })
    else tell({ records: listed.value.records, first: listed.value.first, problem })
    // Whatever was asked for since does it itself; what nobody shows any more may wait.
    if (own !== one.asked || one.stop === undefined) return
    one.again = soonAgain(error, () => void load(path, one))
  }
}

function keptOf(path: string): Kept {
  const known = kept.get(path)
  if (known !== undefined) return known
  const made: Kept = {
    listed: signal<Listed<unknown>>({ records: undefined, first: undefined, problem: undefined }),
    asked: 0,
    told: 0,
    users: 0,
    stop: undefined,
    again: undefined,
  }
  kept.set(path, made)
  return made
}

function begin(path: string, one: Kept): void {
  one.stop ??= effect(() => {
    // An effect that reads these runs at each change.
    if (changes.value + movesOf(path) >= 0) void load(path, one)
  })
}

function end(one: Kept): void {
  one.stop?.()
  one.stop = undefined
  clearTimeout(one.again)
}

whenForgotten(() => {
  for (const one of kept.values()) end(one)
  kept.clear()
})

/** For a list that will be shown in a moment. */
export const foresee = (path: string): void => begin(path, keptOf(path))

/** `path` '' shows nothing. */
export function useRecords<T = RecordLike>(path: string): Listed<T> {
  const one = keptOf(path)
  useEffect(() => {
    if (path === '') return undefined
    one.users += 1
    begin(path, one)
    return () => {
      one.users -= 1
      if (one.users === 0) end(one)
    }
  }, [path])
  return one.listed.value as Listed<T>
}

/** Several lists as one: those that are hidden from this user are left out, unless all of them are. */
export function together(lists: readonly Listed<unknown>[]): {
  readonly isKnown: boolean
  readonly problem: string | undefined
} {
  const told = lists.filter(({ isHidden }) => isHidden !== true)
  if (told.length === 0) return { isKnown: false, problem: lists[0]?.problem }
  return {
    isKnown: told.every(({ records }) => records !== undefined),
    problem: told.find(({ problem }) => problem !== undefined)?.problem,
  }
}

/** One answer, asked for when it is shown and again after each change. */
export function useRead<T>(
  path: string,
  query: Query = {},
): { readonly data: T | undefined; readonly problem: string | undefined } {
  const data = useSignal<T | undefined>(undefined)
  const problem = useSignal<string | undefined>(undefined)
  const tries = useSignal(0)
  useEffect(() => {
    let isOver = false
    let again: ReturnType<typeof setTimeout> | undefined
    read<T>(path, query).then(
      (come) => {
        if (isOver) return
        data.value = come
        problem.value = undefined
      },
      (error: Error) => {
        if (isOver) return
        problem.value = error.message
        again = soonAgain(error, () => (tries.value += 1))
      },
    )
    return () => {
      isOver = true
      clearTimeout(again)
    }
  }, [path, JSON.stringify(query), changes.value + movesOf(path), tries.value])
  return { data: data.value, problem: problem.value }
}

/** Where the records of a section are, for fields that refer to one. */
const PLACES: Readonly<Record<string, string>> = {
  realServers: '/ipvsDirector/rips',
  l7Frontends: '/layer7proxy/frontends',
  l7Backends: '/layer7proxy/backends',
  l4Frontends: '/ipvsDirector/frontends',
  l4Backends: '/ipvsDirector/backends',
  healthChecks: '/healthchecks',
  certificates: '/certificates/certs',
  cipherLists: '/ciphers/lists',
  ipGroups: '/ipgroups',
  staticIps: '/{applianceId}/sips',
  floatingIps: '/fips',
  users: '/localUsers/users',
  groups: '/rbac/groups',
  roles: '/rbac/roles',
  endpoints: '/rbac/endpoints',
  acmeAccounts: '/certificates/acme/accounts',
  acmeOrders: '/certificates/acme/orders',
  alertTargets: '/alerts/targets',
  alertRules: '/alerts/rules',
  radiusUsers: '/radius/users',
  snmpUsers: '/snmp/users',
}
export const placeOf = (section: string): string => here(PLACES[section] ?? '')

/**
 * `/{applianceId}/sips` of the node that served the page. Elsewhere in a path a node id is what the request is about.
 */
export const here = (path: string): string => path.replace(/^\/\{applianceI[dD]\}\//, () => `/${self()}/`)
