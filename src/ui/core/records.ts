import { effect, signal, type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { ask, changes, PAGE, type Query, read, readAll, Refused, underWay } from './api.ts'
import { self } from './live.ts'
import { movesOf } from './moves.ts'
import { isSeen } from './seen.ts'
import { whenForgotten } from './session.ts'

/** Lists of the API, kept while a component shows them and read again after each change. */

export interface Listed<T> {
  /** Undefined until they arrive. */
  readonly records: readonly T[] | undefined
  /** The first records, which arrive sooner if there are thousands: for components that show no more. */
  readonly first: readonly T[] | undefined
  readonly problem: string | undefined
  /** Whether this user may not see it. */
  readonly isHidden?: boolean
}

export interface RecordLike {
  readonly id: string
  readonly name?: string
}

interface Kept {
  readonly listed: Signal<Listed<unknown>>
  /** Number of the latest read, and of the read that is shown. */
  asked: number
  told: number
  users: number
  stop: (() => void) | undefined
  /** Timer for repeating a read that was refused for now. */
  again: ReturnType<typeof setTimeout> | undefined
}

const kept = new Map<string, Kept>()

/** Size of the first page of a list that is not loaded yet; more than the first screen shows. */
const FIRST = 100

/** The user may not see it, or it does not exist. Other refusals, as by an overloaded daemon, are temporary. */
const HIDDEN: ReadonlySet<number> = new Set([403, 404])
const FOR_NOW: ReadonlySet<number> = new Set([429, 503])
const AGAIN_MS = 5_000

/** Repeats a read that an overloaded daemon has refused; a user who returns to the page reads everything anyway. */
const soonAgain = (error: unknown, look: () => void): ReturnType<typeof setTimeout> | undefined =>
  error instanceof Refused && FOR_NOW.has(error.status)
    ? setTimeout(() => {
        if (isSeen.peek()) look()
      }, AGAIN_MS)
    : undefined

/** Returns the list in an answer, which may be in an object, under a name. */
const listIn = (data: unknown): readonly unknown[] =>
  [data, ...Object.values(Object(data))].find((one): one is readonly unknown[] => Array.isArray(one)) ?? []

const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
/** Waits until the first screen is drawn, so that thousands of records do not delay it. */
async function whenDrawn(): Promise<void> {
  while (underWay.peek() > 0) await frame()
  await frame()
}

async function load(path: string, one: Kept): Promise<void> {
  const { listed } = one
  const own = (one.asked += 1)
  clearTimeout(one.again)
  /** Ignores an answer that a later one has overtaken. */
  function tell(now: Listed<unknown>): void {
    if (own < one.told) return
    one.told = own
    listed.value = now
  }
  try {
    // `peek`, because an effect calls this and must not run again when the list changes.
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
    // What the user may no longer see is removed; if the daemon does not answer, the last state stays.
    if (error instanceof Refused && HIDDEN.has(error.status))
      tell({ records: undefined, first: undefined, problem, isHidden: true })
    else tell({ records: listed.value.records, first: listed.value.first, problem })
    // A later read repeats by itself, and a list that nothing shows can wait.
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
    // Reading these makes the effect run at each change.
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

/** Begins to load a list that will be shown soon. */
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

/** Treats several lists as one: hidden ones are left out, unless all are hidden. */
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

/** Reads one answer when it is shown and again after each change. */
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

/** Paths of the records of a section, for fields that refer to one. */
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
 * Fills the node that served the page into `/{applianceId}/sips`. Elsewhere in a path, a node id is the subject of the
 * request.
 */
export const here = (path: string): string => path.replace(/^\/\{applianceI[dD]\}\//, () => `/${self()}/`)
