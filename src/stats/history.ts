import { createHash } from 'node:crypto'
import type { HistoryKind, HistoryQuery } from '../context/figures.ts'
import type { Rendered } from '../context/rendered.ts'
import { coverageStart } from '../../storage/archive/layout.ts'
import { selectTier, servedWindow } from '../../storage/archive/select.ts'
import { CORE_COUNT, type Tier, tierAt } from '../../storage/archive/tiers.ts'
import { TRIM_GRACE_S } from '../../storage/limits.ts'
import { AnswerCache } from './answer-cache.ts'
import { type Arrangement, listOf, one, proxies, realsOf, servers } from './arrangement.ts'
import { type HistoryPage, HistoryText } from './history-text.ts'
import { validity } from '../base/validity.ts'
import { JsonBuffer } from '../base/json-buffer.ts'
import { CORE_METRICS, type Metric, METRICS } from '../model/metrics.ts'
import type { ObjectNames } from './names.ts'
import type { ArchiveObjects } from './objects.ts'
import { BLOCK_BUCKETS, RenderedSeries } from './rendered-series.ts'
import type { SeriesWindow, WindowReader } from './series.ts'
import type { StorageFault } from '../../workers/archive/storage-watch.ts'

/**
 * Points (objects × buckets) of one answer with up to four metrics; with more metrics, fewer points. Above the limit
 * the next coarser tier answers, and the answer names its resolution.
 */
export const HISTORY_POINTS_MAX = 400_000
/** Points of one object: the longest tier fits; a window that begins long before any data loses its empty start. */
export const HISTORY_SERIES_POINTS_MAX = 20_000
/**
 * Points of an answer that is rendered and sent in one go: an hour of seconds fits. Longer ones are rendered while they
 * are sent.
 */
export const HISTORY_WHOLE_POINTS_MAX = 4_000
/** Work on a long answer between two turns of the event loop: 0.2 to 0.5 ms. */
const SLICE = { numbers: 16 * BLOCK_BUCKETS * CORE_COUNT, bytes: 64 * 1_024 }
const WHOLE = { numbers: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
/** Number of arrangements kept for one version of the names: enough for all polled ones. */
const TARGETS_MAX = 20_000
/** 84 bits: no two objects of one daemon have the same tag. */
const TAG_LENGTH = 14
const VARY = 'Accept, Accept-Encoding'
const TYPES = { json: 'application/json', csv: 'text/csv; charset=utf-8' } as const
const NOTHING = new Uint8Array(0)

export interface HistoryReader extends WindowReader {
  /** Seconds before this one are closed. */
  hwm_s(): number
  /** The current tiers; with a full disk, the finest one keeps less. */
  tiers(): readonly Tier[]
  /** The fault that keeps the archive from storing, if it can have one. */
  storage?(): StorageFault | undefined
}

type Asked = 'frontend' | 'backend' | 'reals' | 'rip'

/** The subject of a path, and its short form in a tag. */
interface Target {
  readonly arrangement: Arrangement
  readonly tag: string
}

/**
 * Answers history queries. Everything runs on the caller's thread: a read costs less than a message to another thread.
 */
export class HistoryAnswers {
  readonly #reader: HistoryReader
  readonly #names: ObjectNames
  readonly #nonce: string
  readonly #cache = new AnswerCache()
  readonly #rendered = new RenderedSeries()
  readonly #text: HistoryText
  readonly #out = new JsonBuffer()
  readonly #targets: Readonly<Record<Asked, Map<string, Target>>> = {
    frontend: new Map(),
    backend: new Map(),
    reals: new Map(),
    rip: new Map(),
  }
  #version = -1
  #hwm_s = 0
  /** Counts how often seconds may have got other values. */
  #generation = 0

  constructor(
    reader: HistoryReader,
    objects: ArchiveObjects,
    names: ObjectNames,
    applianceId: string,
    nonce: string,
    message: string,
  ) {
    this.#reader = reader
    this.#names = names
    this.#nonce = nonce
    this.#text = new HistoryText(reader, objects, this.#rendered, applianceId, message)
  }

  /** After a step of the clock, the seconds to come may have other values than those answered before. */
  forget(): void {
    validity.endAnswers()
    this.#generation++
    this.#cache.clear()
    this.#rendered.clear()
  }

  frontend(id: string, query: HistoryQuery): Rendered<Uint8Array> | undefined {
    return this.#answer('frontend', id, query, () => {
      const found = this.#names.frontend(id)
      return found && one('frontend', found)
    })
  }

  backend(id: string, query: HistoryQuery): Rendered<Uint8Array> | undefined {
    return this.#answer('backend', id, query, () => {
      const found = this.#names.backend(id)
      return found && one('backend', found)
    })
  }

  backendReals(id: string, query: HistoryQuery): Rendered<Uint8Array> | undefined {
    return this.#answer('reals', id, query, () => {
      const found = this.#names.backend(id)
      return found && realsOf(found)
    })
  }

  /** Answers for a real server that is in no backend. */
  none(query: HistoryQuery): Rendered<Uint8Array> | undefined {
    return this.#answer('rip', '', query, () => listOf('', []))
  }

  rip(id: string, query: HistoryQuery): Rendered<Uint8Array> | undefined {
    return this.#answer('rip', id, query, () => {
      const found = this.#names.backendsOfRip(id)
      return found && listOf(id, found)
    })
  }

  kindsOf(id: string): readonly HistoryKind[] {
    const kinds: HistoryKind[] = []
    if (this.#names.frontend(id) !== undefined) kinds.push('frontend')
    if (this.#names.backend(id) !== undefined) kinds.push('backend')
    if (this.#names.backendsOfRip(id) !== undefined) kinds.push('server')
    return kinds
  }

  /** Answers for several objects. Each request names its own combination, so only the answer is kept. */
  several(kind: HistoryKind, ids: readonly string[], query: HistoryQuery): Rendered<Uint8Array> | undefined {
    const names = this.#names
    const arrangement =
      kind === 'server'
        ? servers(ids.map((ripId) => ({ ripId, backends: names.backendsOfRip(ripId) ?? [] })))
        : proxies(
            kind,
            ids.flatMap((id) => names[kind](id) ?? []),
          )
    this.#followNames()
    return this.#rendering({ arrangement, tag: tagOf(`several ${kind}/${ids.join()}`) }, query)
  }

  #answer(
    what: Asked,
    id: string,
    query: HistoryQuery,
    arrange: () => Arrangement | undefined,
  ): Rendered<Uint8Array> | undefined {
    const target = this.#target(what, id, arrange)
    return target && this.#rendering(target, query)
  }

  #rendering(target: Target, query: HistoryQuery): Rendered<Uint8Array> {
    const closed_s = this.#closed()
    const { arrangement } = target
    const window = this.#window(query, arrangement.subjects.length, closed_s)
    const storage = this.#reader.storage?.()
    const page = { arrangement, query, window, closed_s, storage, isKept: () => this.#isKept(window, closed_s) }
    const etag = this.#tag(target, page)
    // For a window that is not over yet: its closed buckets, or the first open one.
    const isOfNow = query.end > window.end_s || window.end_s > closed_s
    const ready = this.#cache.get(etag)
    if (ready !== undefined) return isOfNow ? ready.ofNow : ready.whole
    const form = { etag, contentType: TYPES[query.format], vary: VARY, ...headersOf(query, window) }
    const buckets = (window.end_s - window.first_s) / window.step_s
    if (buckets * arrangement.subjects.length * weightOf(query) > HISTORY_WHOLE_POINTS_MAX) {
      return { ...form, body: NOTHING, slices: () => this.#slices(page) }
    }
    this.#out.clear()
    let isFinal = true
    for (const isFinalPart of this.#text.write(page, this.#out, WHOLE)) isFinal &&= isFinalPart
    if (this.#closed() < closed_s) return this.#rendering(target, query)
    const brief = { ...form, body: this.#out.view(), isTransient: true } as const
    if (!isFinal) return { ...brief, etag: undefined, isOfNow: true }
    if (!this.#cache.wants(etag)) return isOfNow ? { ...brief, isOfNow } : brief
    const whole = { ...form, body: this.#out.take() }
    const answer = { whole, ofNow: { ...whole, isOfNow: true as const } }
    this.#cache.put(etag, answer)
    return isOfNow ? answer.ofNow : answer.whole
  }

  /** Returns the end of the closed seconds. When it moved back, nothing rendered before may be used. */
  #closed(): number {
    const hwm_s = this.#reader.hwm_s()
    if (hwm_s < this.#hwm_s) this.forget()
    this.#hwm_s = hwm_s
    return hwm_s
  }

  /** Whether the archive still has the part of the window that it had at the request. */
  #isKept({ tier, first_s }: SeriesWindow, asked_s: number): boolean {
    const now = this.#reader.tiers()[tier]
    if (now === undefined) return false
    const wasCovered = coverageStart(now, asked_s) <= first_s
    return !wasCovered || coverageStart(now, this.#reader.hwm_s() - TRIM_GRACE_S) <= first_s
  }

  #followNames(): void {
    const { version } = this.#names
    if (version !== this.#version) for (const each of Object.values(this.#targets)) each.clear()
    this.#version = version
  }

  #target(what: Asked, id: string, arrange: () => Arrangement | undefined): Target | undefined {
    this.#followNames()
    const targets = this.#targets[what]
    const known = targets.get(id)
    if (known !== undefined) return known
    const arrangement = arrange()
    if (arrangement === undefined) return undefined
    const target = { arrangement, tag: tagOf(`${what}/${id}`) }
    if (targets.size >= TARGETS_MAX) targets.clear()
    targets.set(id, target)
    return target
  }

  /** Returns the tag. Closed buckets never change, so the request determines the bytes. */
  #tag({ tag }: Target, { query, storage, closed_s, window: { step_s, first_s, end_s } }: HistoryPage): string {
    // Nearly all requests ask for these.
    const metrics = query.metrics === CORE_METRICS ? '' : query.metrics.map(placeOf).join('')
    const fault = storage === undefined ? '' : `s${storage.since_ms}${storage.isStoring ? 'k' : ''}`
    const state = `${this.#nonce}${this.#generation}-${this.#version}${fault}`
    // An open bucket is unknown in every answer, and has another tag once it is closed.
    const open = end_s > closed_s ? 'o' : ''
    return `"${state}-${tag}-${first_s}-${end_s}${open}-${step_s}${query.consolidation}${metrics}${query.format}"`
  }

  /** Yields the answer between turns of the event loop, until one of its values has changed or was dropped. */
  *#slices(page: HistoryPage): Generator<Uint8Array, string | undefined> {
    const out = this.#out
    const generation = this.#generation
    const steps = this.#text.write(page, out, SLICE)
    for (;;) {
      out.clear()
      const { value: isFinal, done } = steps.next()
      this.#closed()
      if (this.#generation !== generation) return 'the clock was set back'
      if (isFinal === false) return 'a part of the window was removed before it was read'
      yield out.view()
      if (done === true) return undefined
    }
  }

  /** Selects the tier by the contract's rule, or a coarser one when the answer would be too large. */
  #window(query: HistoryQuery, subjects: number, hwm_s: number): SeriesWindow {
    const share = Math.floor(HISTORY_POINTS_MAX / (Math.max(1, subjects) * weightOf(query)))
    const points_max = Math.max(1, Math.min(HISTORY_SERIES_POINTS_MAX, share))
    const tiers = this.#reader.tiers()
    let index = selectTier(tiers, hwm_s, query.start, query.resolution)
    for (;;) {
      const tier = tierAt(index, tiers)
      const { step_s } = tier
      const window = servedWindow(step_s, hwm_s, query.start, query.end)
      const isTooFine = (window.end_s - window.first_s) / step_s > (query.points ?? Number.POSITIVE_INFINITY)
      if (isTooFine && index + 1 < tiers.length) {
        index++
        continue
      }
      const covered = coverageStart(tier, hwm_s)
      // A tier has no data before its coverage: if the window begins much earlier, its empty start is left out.
      const excess = (window.end_s - window.first_s) / step_s - points_max
      // No bucket of the window is closed: the one that holds its start, which is still unknown, is served.
      if (window.end_s === window.first_s) return { tier: index, step_s, ...window, end_s: window.first_s + step_s }
      if (excess <= 0) return { tier: index, step_s, ...window }
      if (index + 1 === tiers.length || window.first_s + excess * step_s <= covered) {
        return { tier: index, step_s, first_s: window.first_s + excess * step_s, end_s: window.end_s }
      }
      index++
    }
  }
}

/** Returns headers with the served resolution, as CSV rows have no place for it. */
const headersOf = ({ format }: HistoryQuery, { step_s }: SeriesWindow): Pick<Rendered, 'headers'> =>
  format === 'csv' ? { headers: { 'X-Resolution': String(step_s) } } : {}

const placeOf = (metric: Metric): string => METRICS.indexOf(metric).toString(36)

function tagOf(what: string): string {
  return createHash('sha1').update(what).digest('base64url').slice(0, TAG_LENGTH)
}

/** Returns how much larger a point is than one with four metrics. */
function weightOf({ metrics }: HistoryQuery): number {
  return Math.max(1, metrics.length / CORE_COUNT)
}
