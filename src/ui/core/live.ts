import { computed, effect, signal } from '@preact/signals'
import { ask, changes, isAway, isLocked, Refused, underWay } from './api.ts'
import { ahead_ms } from './clock.ts'
import { type Figure, rateOf } from './figures.ts'
import { happened, spaced } from './moves.ts'
import { may, rightsChanged } from './rights.ts'
import { isSeen } from './seen.ts'
import { account, forgotten, isEntering, state, whenForgotten } from './session.ts'
import { type FiguresState, followEvents, followFigures } from './shared-streams.ts'
import { EVERYTHING, wanted } from './wanted.ts'

/** What the page knows of the moment: the overview, what waits, and the figures of the last seconds. */

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
    /** An edit of what waits already moves nothing else. */
    readonly changedAt: string | null
    readonly warnings: readonly Warning[]
  } | null
  readonly jobs: { readonly running: number; readonly failed: number } | null
  readonly events: readonly Happened[] | null
  readonly revisions: readonly Revision[] | null
}

export const overview = signal<Overview | undefined>(undefined)

/** Frontends that run, whatever is pending; they arrive before the records of thousands do. */
export const frontendsOf = ({ layer7, layer4 }: Pick<Overview, 'layer7' | 'layer4'>): number =>
  layer7.frontends.total + layer4.frontends.total
/** Rises once a second, when figures came. */
export const tick = signal(0)
export const stream = signal<FiguresState>('waiting')
/** Figures came of what is followed. */
const came = signal(false)
/** And that is what the page shows by now: what has none is not live. */
export const hasFigures = computed(() => came.value && followed.value === toFollow.value)
/** No figures came for some seconds: those that are shown are of then. */
export const isOld = signal(false)
export const seesFigures = computed(() => may('GET /{applianceId}/stats/stream'))
/** Windows of other people of this browser may be told of other things. */
const ownId = computed(() => account.value?.id ?? '')
const seesEvents = computed(() => may('GET /events'))
let lastFigures_ms = 0

const OVERVIEW_MS = 5_000
/** Figures come once a second: a daemon that says nothing for so long is not answering, or not reached. */
const OLD_MS = 5_000
const ANSWER_MS = 10_000
/** Many events at once are one look. */
const EVENTS_MS = 1_000
const AGAIN_MS = 5_000
const RING = 60

type Row = Record<string, unknown>
const LAYERS = ['layer7', 'layer4'] as const
const KINDS = ['frontends', 'backends', 'reals'] as const
export type LayerName = (typeof LAYERS)[number]
export type FigureKind = (typeof KINDS)[number]

const figures = new Map<string, Row>()
/** Keys of the figures of each server. */
const ofServers = new Map<string, Set<string>>()
/** Requests, or new sessions, of each second. */
const rings = new Map<string, number[]>()

const keyOf = (layer: string, kind: string, row: Row): string =>
  kind === 'reals'
    ? `${layer} reals ${String(row['backendId'])} ${String(row['id'])}`
    : `${layer} ${kind} ${String(row['id'])}`

/** To be read after `tick`. A server counts once for each backend that holds it. */
export const figureOf = (layer: LayerName, kind: FigureKind, id: string, backendId = ''): Figure | undefined =>
  figures.get(keyOf(layer, kind, { id, backendId })) as Figure | undefined
export const ringOf = (layer: LayerName, kind: FigureKind, id: string): readonly number[] =>
  rings.get(`${layer} ${kind} ${id}`) ?? []
/** Figures of a server, one for each backend that contains it. */
export const figuresOfServer = (id: string): readonly Figure[] =>
  [...(ofServers.get(id) ?? [])].map((key) => (figures.get(key) ?? {}) as Figure)

/** Figures come now, or are asked for. A line with seconds that nobody followed would show what was not. */
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
    // Seconds of which nothing is known would be missing in it just so.
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
  if (known !== undefined) Object.assign(known, row)
  else figures.set(key, { ...row })
  if (kind === 'frontends' && !rings.has(key)) rings.set(key, [])
  if (kind !== 'reals' || known !== undefined) return
  const id = String(row['id'])
  ofServers.set(id, (ofServers.get(id) ?? new Set()).add(key))
}

/** Whatever is configured, pending or running moves it. */
const placeOf = ({ apply: now, pending }: Overview) =>
  `${now?.revision} ${now?.state} ${pending?.count} ${pending?.changedAt}`

const healthOf = ({ layer7, layer4 }: Overview) => JSON.stringify([layer7.reals, layer4.reals])

let asked = 0
/** This user may not see it, for example with a role for one task only: it is asked for again when rights change. */
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
    // Components that show records when the first one arrives are reading them already.
    if (before !== undefined && placeOf(before) !== placeOf(next)) changes.value += 1
    // No event tells of a server that is found well by its first check.
    else if (before !== undefined && healthOf(before) !== healthOf(next)) happened('realServer')
    happened('look')
  } catch (error) {
    // The header says that a daemon does not answer.
    if (late.aborted) isAway.value = true
    if (forgotten.peek() === whose && error instanceof Refused && error.status === FORBIDDEN)
      isOverviewHidden.value = true
  } finally {
    asked -= 1
  }
}

/** After an edit or an apply: everybody looks again, at once. */
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

/** A daemon that answers again, and a page that is looked at again, may have missed anything. */
const readAgain = spaced(AGAIN_MS, () => (changes.value = changes.peek() + 1))
const follows = computed(() => looksOn.value && !isAway.value)
let hasFollowed = false
effect(() => {
  if (!follows.value) return
  // What is shown first is being read already.
  if (hasFollowed) readAgain()
  hasFollowed = true
})

/** An address that moves leads to another node: the overview, which is asked for more often, tells of that first. */
const nodeId = computed(() => overview.value?.nodeId ?? account.value?.nodeId)

/** They come after what the first screen waits for. */
const mayBegin = signal(false)
effect(() => {
  if ((overview.value !== undefined || isOverviewHidden.value) && underWay.value === 0) mayBegin.value = true
})

const objectsOf = ({ frontends, backends, reals }: Layer) => frontends.total + backends.total + reals.total
/** On a site that is no larger than this all figures are followed, so that every page has them at once. */
const SMALL = 500
const isSmall = computed(() => {
  const now = overview.value
  return now === undefined || objectsOf(now.layer7) + objectsOf(now.layer4) <= SMALL
})
/** What the daemon has refused to tell of apart, as that of which nothing runs yet is among it. */
const refusedIds = signal('')
effect(() => {
  if (changes.value >= 0) refusedIds.value = ''
})
const toFollow = computed((): string | undefined => {
  if (!mayBegin.value) return undefined
  const ids = isSmall.value ? EVERYTHING : wanted.value
  return ids === refusedIds.value ? EVERYTHING : ids
})
/** False where the page shows no figures, as most pages of a large site do not. */
export const isFollowing = computed(() => !mayBegin.value || toFollow.value !== undefined)

/** A user who scrolls, or moves from page to page, needs only the streams of where they end up. */
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
    // Some events are not kept any more, of whatever kind.
    if (kind === 'reset') readAgain()
    else happened(kind)
  })
})

export const self = (): string => nodeId.value ?? ''

/** Applies; answers what the API says, or throws. */
export async function apply(body: Readonly<Record<string, unknown>>): Promise<string> {
  const { message } = await ask('PUT', '/services/apply', { body })
  await changed()
  return message
}

export const isWarned = (error: unknown): error is Refused => error instanceof Refused && error.code === 'WARNINGS'
