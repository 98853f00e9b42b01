import { computed, effect, signal } from '@preact/signals'
import { ask, changes, isAway, isLocked, Refused, underWay } from './api.ts'
import { ahead_ms, daemonNow_ms } from './clock.ts'
import { type Figure, rateOf } from './figures.ts'
import { happened, spaced } from './moves.ts'
import { may, rightsChanged } from './rights.ts'
import { isSeen } from './seen.ts'
import { account, forgotten, isEntering, state, whenForgotten } from './session.ts'
import { type FiguresState, followEvents, followFigures } from './shared-streams.ts'
import { EVERYTHING, wanted } from './wanted.ts'

/** The present state as the page knows it: the overview, pending changes, and the figures of the last seconds. */

type Counts = Readonly<Record<'total' | 'up' | 'down' | 'checking' | 'drained' | 'halted' | 'unknown', number>>
interface Layer {
  readonly problem: string | null
  readonly frontends: Pick<Counts, 'total' | 'up' | 'down'>
  readonly backends: Pick<Counts, 'total' | 'up' | 'down'>
  readonly reals: Counts
  readonly traffic: Readonly<
    Record<'sessions' | 'newPerSecond' | 'requestsPerSecond' | 'bytesInPerSecond' | 'bytesOutPerSecond', number | null>
  >
}
export interface Attention {
  readonly kind: string
  readonly severity: 'info' | 'warning' | 'critical'
  readonly message: string
  readonly resource: string | null
  readonly resourceId: string | null
  readonly name: string | null
}
export interface Warning {
  readonly code: string
  readonly message: string
  readonly name: string
}
export interface Happened {
  readonly id: number
  readonly at: string
  readonly kind: string
  readonly data: Readonly<Record<string, unknown>>
}
export interface Revision {
  readonly revision: number
  readonly by: string
  readonly at: string
  readonly comment: string
  readonly count: number
}
export interface NodeShown {
  readonly id: string
  readonly name: string
  readonly isSelf: boolean
  readonly version: string
  readonly state: string
  readonly isLeader: boolean
  readonly inMaintenance: boolean
}
export interface Overview {
  readonly time: string
  readonly nodeId: string
  readonly version: string
  readonly haproxy: { readonly answers: boolean; readonly since: string | null; readonly version: string | null }
  readonly layer7: Layer
  readonly layer4: Layer
  readonly disk: { readonly size: number; readonly available: number } | null
  readonly nodes: readonly NodeShown[]
  readonly quorum: boolean | null
  readonly attention: readonly Attention[]
  readonly more: number
  readonly apply: {
    readonly state: 'idle' | 'applying' | 'waiting'
    readonly revision: number
    readonly by: string | null
    readonly secondsLeft: number | null
  } | null
  readonly pending: {
    readonly count: number
    readonly mine: number
    /** Changes with an edit of a pending change, which alters no other field. */
    readonly changedAt: string | null
    readonly warnings: readonly Warning[]
  } | null
  readonly jobs: { readonly running: number; readonly failed: number } | null
  readonly events: readonly Happened[] | null
  readonly revisions: readonly Revision[] | null
}

export const overview = signal<Overview | undefined>(undefined)

/** Number of running frontends, whatever is pending; known before the lists of thousands of records arrive. */
export const frontendsOf = ({ layer7, layer4 }: Pick<Overview, 'layer7' | 'layer4'>): number =>
  layer7.frontends.total + layer4.frontends.total
/** Counts arrivals of figures, one a second. */
export const tick = signal(0)
export const stream = signal<FiguresState>('waiting')
/** Whether figures of the followed objects have arrived. */
const came = signal(false)
/** Whether those are also the objects that the page shows: then an object without figures is not live. */
export const hasFigures = computed(() => came.value && followed.value === toFollow.value)
/** Whether no figures arrived for some seconds, so that the shown ones are outdated. */
export const isOld = signal(false)
export const seesFigures = computed(() => may('GET /{applianceId}/stats/stream'))
/** Keeps windows of different users in this browser apart, who may see different things. */
const ownId = computed(() => account.value?.id ?? '')
const seesEvents = computed(() => may('GET /events'))
let lastFigures_ms = 0

const OVERVIEW_MS = 5_000
/** Figures arrive once a second: after this time of silence, the daemon does not answer or is out of reach. */
const OLD_MS = 5_000
const ANSWER_MS = 10_000
/** Events within this time cause a single read. */
const EVENTS_MS = 1_000
const AGAIN_MS = 5_000
const RING = 60

type Row = Record<string, unknown>
const LAYERS = ['layer7', 'layer4'] as const
const KINDS = ['frontends', 'backends', 'reals'] as const
export type LayerName = (typeof LAYERS)[number]
export type FigureKind = (typeof KINDS)[number]

const figures = new Map<string, Row>()
/** Keys of each server's figures. */
const ofServers = new Map<string, Set<string>>()
/** Requests, or new sessions, per second. */
const rings = new Map<string, number[]>()

const keyOf = (layer: string, kind: string, row: Row): string =>
  kind === 'reals'
    ? `${layer} reals ${String(row['backendId'])} ${String(row['id'])}`
    : `${layer} ${kind} ${String(row['id'])}`

/** Returns the figures of an object; read `tick` first. A server counts once for each backend that contains it. */
export const figureOf = (layer: LayerName, kind: FigureKind, id: string, backendId = ''): Figure | undefined =>
  figures.get(keyOf(layer, kind, { id, backendId })) as Figure | undefined
export const ringOf = (layer: LayerName, kind: FigureKind, id: string): readonly number[] =>
  rings.get(`${layer} ${kind} ${id}`) ?? []
/** Returns the figures of a server, one for each backend that contains it. */
export const figuresOfServer = (id: string): readonly Figure[] =>
  [...(ofServers.get(id) ?? [])].map((key) => (figures.get(key) ?? {}) as Figure)
/** Returns the frontends that have figures, for users who may not read their records; reads `tick`. */
export const frontendsWithFigures = () =>
  tick.value === 0
    ? []
    : [...figures].flatMap(([key, { id, name }]) => {
        const layer = LAYERS.find((one) => key.startsWith(`${one} frontends `))
        return layer === undefined ? [] : [{ layer, id: String(id), name: String(name) }]
      })

/**
 * Notes that figures arrive, or are requested. After a gap, lines begin anew, because they have no place for missing
 * seconds.
 */
function touch(): void {
  const now_ms = performance.now()
  if (now_ms - lastFigures_ms > OLD_MS) for (const ring of rings.values()) ring.length = 0
  lastFigures_ms = now_ms
}

function take(data: unknown, isWhole: boolean): void {
  touch()
  if (isWhole) {
    figures.clear()
    ofServers.clear()
  }
  for (const layer of LAYERS) {
    const told = (data as Record<string, Record<string, readonly Row[]> | undefined>)[layer]
    for (const kind of KINDS) for (const row of told?.[kind] ?? []) keep(layer, kind, row)
  }
  for (const [key, ring] of rings) {
    const row = figures.get(key)
    if (row === undefined) {
      rings.delete(key)
      continue
    }
    // An unknown second would likewise be missing in the line.
    const rate = rateOf(row as Figure)
    if (rate === undefined) ring.length = 0
    else ring.push(rate)
    if (ring.length > RING) ring.shift()
  }
  came.value = true
  tick.value += 1
}

function keep(layer: LayerName, kind: FigureKind, row: Row): void {
  const key = keyOf(layer, kind, row)
  const known = figures.get(key)
  const now: Row = known ?? {}
  Object.assign(now, row)
  if (known === undefined) figures.set(key, now)
  // The age of a state is told once, and not again as it grows.
  if (typeof row['lastChange'] === 'number') now['changedAt'] = daemonNow_ms() - row['lastChange'] * 1000
  if (kind === 'frontends' && !rings.has(key)) rings.set(key, [])
  if (kind !== 'reals' || known !== undefined) return
  const id = String(row['id'])
  ofServers.set(id, (ofServers.get(id) ?? new Set()).add(key))
}

/** Changes with the configuration, pending or running. */
const placeOf = ({ apply: now, pending }: Overview) =>
  `${now?.revision} ${now?.state} ${pending?.count} ${pending?.changedAt}`

const healthOf = ({ layer7, layer4 }: Overview) => JSON.stringify([layer7.reals, layer4.reals])

let asked = 0
/**
 * Whether this user may not see the overview, for example with a role for one task only; requested again when rights
 * change.
 */
export const isOverviewHidden = signal(false)
const FORBIDDEN = 403

export async function refreshOverview(): Promise<void> {
  asked += 1
  const late = AbortSignal.timeout(ANSWER_MS)
  const whose = forgotten.peek()
  try {
    const { data: next } = await ask<Overview>('GET', '/overview', { signal: late })
    if (forgotten.peek() !== whose) return
    ahead_ms.value = Date.now() - Date.parse(next.time)
    const before = overview.value
    overview.value = next
    // Components that show records when the first overview arrives are already reading them.
    if (before !== undefined && placeOf(before) !== placeOf(next)) changes.value += 1
    // No event reports that the first check of a server succeeds.
    else if (before !== undefined && healthOf(before) !== healthOf(next)) happened('realServer')
    happened('look')
  } catch (error) {
    // So that the header says that the daemon does not answer.
    if (late.aborted) isAway.value = true
    if (forgotten.peek() === whose && error instanceof Refused && error.status === FORBIDDEN)
      isOverviewHidden.value = true
  } finally {
    asked -= 1
  }
}

/** Makes all components read again at once, after an edit or an apply. */
export async function changed(): Promise<void> {
  changes.value += 1
  await refreshOverview()
}

whenForgotten(() => {
  overview.value = undefined
  isOverviewHidden.value = false
  for (const all of [figures, ofServers, rings]) all.clear()
})

const looksOn = computed(
  () =>
    isEntering.value || (state.value === 'in' && !isLocked.value && isSeen.value && account.value?.mustEnrol !== true),
)
effect(() => {
  if (rightsChanged.value > 0) isOverviewHidden.value = false
})
effect(() => {
  if (!looksOn.value || isOverviewHidden.value) return undefined
  void refreshOverview()
  const timer = setInterval(() => {
    if (asked === 0) void refreshOverview()
  }, OVERVIEW_MS)
  return () => clearInterval(timer)
})

/** A daemon that answers again, or a page that is visible again, may have missed changes. */
const readAgain = spaced(AGAIN_MS, () => (changes.value = changes.peek() + 1))
const follows = computed(() => looksOn.value && !isAway.value)
let hasFollowed = false
effect(() => {
  if (!follows.value) return
  // The first screen is already being read.
  if (hasFollowed) readAgain()
  hasFollowed = true
})

/** An address that moves leads to another node: the overview, which is requested more often, shows that first. */
const nodeId = computed(() => overview.value?.nodeId ?? account.value?.nodeId)

/** Figures begin after everything that the first screen needs. */
const mayBegin = signal(false)
effect(() => {
  if ((overview.value !== undefined || isOverviewHidden.value) && underWay.value === 0) mayBegin.value = true
})

const objectsOf = ({ frontends, backends, reals }: Layer) => frontends.total + backends.total + reals.total
/** On a site up to this size, all figures are followed, so that every page has them at once. */
const SMALL = 500
const isSmall = computed(() => {
  const now = overview.value
  return now === undefined || objectsOf(now.layer7) + objectsOf(now.layer4) <= SMALL
})
/** Ids that the daemon has refused to follow separately, because one of them is not running yet. */
const refusedIds = signal('')
effect(() => {
  if (changes.value >= 0) refusedIds.value = ''
})
const toFollow = computed((): string | undefined => {
  if (!mayBegin.value) return undefined
  const ids = isSmall.value ? EVERYTHING : wanted.value
  return ids === refusedIds.value ? EVERYTHING : ids
})
/** False if the page shows no figures, as most pages of a large site. */
export const isFollowing = computed(() => !mayBegin.value || toFollow.value !== undefined)

/** A user who scrolls or changes pages needs only the streams of where they end up. */
const SETTLE_MS = 200
const followed = signal<string | undefined>(undefined)
effect(() => {
  const next = toFollow.value
  const timer = setTimeout(() => (followed.value = next), followed.peek() === undefined ? 0 : SETTLE_MS)
  return () => clearTimeout(timer)
})

effect(() => {
  const [id, ids] = [nodeId.value, followed.value]
  if (state.value !== 'in' || isLocked.value || !isSeen.value || !seesFigures.value) return undefined
  if (id === undefined || ids === undefined) return undefined
  came.value = false
  touch()
  const end = followFigures({
    whose: ownId.value,
    nodeId: id,
    ids,
    onFigures: take,
    onState: (now) => (stream.value = now),
    onRefused: () => (refusedIds.value = ids),
  })
  const timer = setInterval(() => {
    isOld.value = performance.now() - lastFigures_ms > OLD_MS
  }, 1_000)
  return () => {
    end()
    clearInterval(timer)
    isOld.value = false
  }
})

effect(() => {
  if (state.value !== 'in' || isLocked.value || !isSeen.value || !seesEvents.value) return undefined
  const look = spaced(EVENTS_MS, () => void refreshOverview())
  return followEvents(ownId.value, (kind) => {
    look()
    // Events of any kind may be lost.
    if (kind === 'reset') readAgain()
    else happened(kind)
  })
})

export const self = (): string => nodeId.value ?? ''

/** Applies; resolves with the API's message, or throws. */
export async function apply(body: Readonly<Record<string, unknown>>): Promise<string> {
  const { message } = await ask('PUT', '/services/apply', { body })
  await changed()
  return message
}

export const isWarned = (error: unknown): error is Refused => error instanceof Refused && error.code === 'WARNINGS'
