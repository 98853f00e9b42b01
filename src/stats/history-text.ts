import type { HistoryQuery } from '../context/figures.ts'
import type { Arrangement, Subject } from './arrangement.ts'
import { CORE_METRICS, METRICS, type Metric } from '../model/metrics.ts'
import { CORE_COUNT, METRIC_COUNT } from '../../storage/archive/tiers.ts'
import type { JsonBuffer } from '../base/json-buffer.ts'
import type { ArchiveObjects } from './objects.ts'
import {
  BLOCK_BUCKETS,
  METRIC_GROUPS,
  type MetricGroup,
  type RenderedSeries,
  type RenderedTrack,
} from './rendered-series.ts'
import type { StorageFault } from '../../workers/archive/storage-watch.ts'
import { Series, type SeriesWindow, type WindowReader } from './series.ts'

/** The content of an answer: whose series, which buckets, and up to which second they are closed. */
export interface HistoryPage {
  readonly arrangement: Arrangement
  readonly query: HistoryQuery
  readonly window: SeriesWindow
  readonly closed_s: number
  /** The fault that keeps the archive from storing, named in the answer's message. */
  readonly storage?: StorageFault | undefined
  /**
   * Whether the archive still has the whole window: rendered text outlives the archive's data, the rest must be read.
   */
  isKept(): boolean
}

/** The amount of work in one slice: numbers to be rendered, and bytes. */
export interface SliceSize {
  readonly numbers: number
  readonly bytes: number
}

/**
 * Number of buckets read at once, for the core metrics and for all: at most half a millisecond of work, where averages
 * are made of averages. A row of CSV is longer and is never taken from kept text.
 */
const JSON_PART_BUCKETS = { [CORE_COUNT]: 16 * BLOCK_BUCKETS, [METRIC_COUNT]: 4 * BLOCK_BUCKETS } as const
const CSV_PART_BUCKETS = { [CORE_COUNT]: 8 * BLOCK_BUCKETS, [METRIC_COUNT]: 2 * BLOCK_BUCKETS } as const

/**
 * Writes history answers. Every method is a generator that stops whenever a slice is full: the sender takes the text
 * written so far, empties the buffer and continues. It yields `false` if buckets in the slice were not final.
 */
export class HistoryText {
  readonly #reader: WindowReader
  readonly #objects: ArchiveObjects
  readonly #rendered: RenderedSeries
  readonly #applianceId: string
  readonly #series = new Series()

  /** Message of such an answer. */
  readonly #message: string

  constructor(
    reader: WindowReader,
    objects: ArchiveObjects,
    rendered: RenderedSeries,
    applianceId: string,
    message: string,
  ) {
    this.#message = message
    this.#reader = reader
    this.#objects = objects
    this.#rendered = rendered
    this.#applianceId = JSON.stringify(applianceId)
  }

  write(page: HistoryPage, out: JsonBuffer, slice: SliceSize): Generator<boolean, void> {
    return page.query.format === 'csv' ? this.#csv(page, out, slice) : this.#json(page, out, slice)
  }

  *#json(page: HistoryPage, out: JsonBuffer, slice: SliceSize): Generator<boolean, void> {
    const { shape, subjects, group, listed } = page.arrangement
    const facts = this.#facts(page)
    out.text(`{"status":"success","message":${JSON.stringify(messageOf(this.#message, page.storage))},"data":`)
    if (shape === 'listed') out.text(`{${group === '' ? '' : `${group},`}${facts},"${listed}":[`)
    else if (shape === 'list') out.text('[')
    const repeated = shape === 'listed' ? '' : `${facts},`
    let isFirst = true
    for (const subject of subjects) {
      out.text(`${isFirst ? '' : ','}{${subject.json},${repeated}"series":{`)
      yield* this.#seriesJson(subject, page, out, slice)
      out.text('}}')
      isFirst = false
    }
    out.text(shape === 'listed' ? ']}}' : shape === 'list' ? ']}' : '}')
  }

  /** Returns no object for an open bucket, which is unknown whatever has been recorded of it. */
  #objectOf(subject: Pick<Subject, 'kind' | 'name' | 'backend'>, { window, closed_s }: HistoryPage) {
    const { kind, name, backend } = subject
    return window.end_s > closed_s ? undefined : this.#objects.find(kind, name, backend)
  }

  /** Returns the fields that are the same for every object of the answer. */
  #facts({ query, window: { first_s, end_s, step_s } }: HistoryPage): string {
    const served = `"start":${first_s},"end":${end_s},"resolution":${step_s}`
    return `"applianceId":${this.#applianceId},${served},"consolidation":"${query.consolidation}","metrics":${namesOf(query.metrics)}`
  }

  *#seriesJson(subject: Subject, page: HistoryPage, out: JsonBuffer, slice: SliceSize): Generator<boolean, void> {
    const { query, window, closed_s } = page
    const rendered = this.#rendered
    const object = this.#objectOf(subject, page)
    const tracks = new Map<MetricGroup, RenderedTrack>()
    let before = rendered.rendered
    for (const group of groupsOf(query.metrics)) {
      const track = rendered.track(object, window.tier, query.consolidation, group)
      tracks.set(group, track)
      for (const part of partsOf(window, JSON_PART_BUCKETS[group.columns])) {
        const known = rendered.rendered
        const isWhole = rendered.load(track, this.#reader, object, part, query.consolidation, closed_s)
        const isFinal = isWhole && (rendered.rendered === known || page.isKept())
        if (isFinal && rendered.rendered - before < slice.numbers) continue
        yield isFinal
        before = rendered.rendered
      }
    }
    const parts = partsOf(window, JSON_PART_BUCKETS[CORE_COUNT])
    let isFirst = true
    for (const name of query.metrics) {
      out.text(`${isFirst ? '' : ','}"${name}":[`)
      isFirst = false
      const metric = METRICS.indexOf(name)
      const track = tracks.get(groupOf(metric))
      for (const part of parts) {
        if (part.first_s > window.first_s) out.byte(COMMA)
        if (track !== undefined) rendered.write(track, metric, part, out)
        if (out.length >= slice.bytes) yield true
      }
      out.byte(CLOSE_LIST)
    }
  }

  /** Writes one row per bucket and object. An answer about several objects names them in columns of their own. */
  *#csv(page: HistoryPage, out: JsonBuffer, slice: SliceSize): Generator<boolean, void> {
    const { query, window } = page
    const { subjects, columns } = page.arrangement
    const metrics = query.metrics.map((metric) => METRICS.indexOf(metric))
    const read = metrics.some((metric) => metric >= CORE_COUNT) ? METRIC_COUNT : CORE_COUNT
    out.text(`${['time', ...columns, ...query.metrics].join()}\r\n`)
    for (const { labels, kind, name, backend } of subjects) {
      const cells = labels.filter(([label]) => columns.includes(label)).map(([, value]) => `,${csvField(value)}`)
      for (const part of partsOf(window, CSV_PART_BUCKETS[read])) {
        const object = this.#objectOf({ kind, name, backend }, page)
        const isFinal = this.#series.load(this.#reader, part, query.consolidation, object, read) && page.isKept()
        this.#rows(part, cells.join(''), metrics, out)
        if (!isFinal || out.length >= slice.bytes) yield isFinal
      }
    }
  }

  #rows(part: SeriesWindow, cells: string, metrics: readonly number[], out: JsonBuffer): void {
    for (let i = 0; i < this.#series.length; i++) {
      out.number(part.first_s + i * part.step_s)
      if (cells !== '') out.text(cells)
      for (const metric of metrics) {
        out.byte(COMMA)
        const value = this.#series.valueAt(metric, i)
        if (!Number.isNaN(value)) out.number(value)
      }
      out.text('\r\n')
    }
  }
}

function messageOf(message: string, storage: StorageFault | undefined): string {
  if (storage === undefined) return message
  const { reason, since_ms, isStoring } = storage
  const effect = isStoring
    ? 'fewer seconds are kept in full resolution'
    : 'nothing is stored, only the last five minutes are in memory'
  return `${message}; since ${new Date(since_ms).toISOString()} ${effect}: ${reason}`
}

const COMMA = 0x2c
const CLOSE_LIST = 0x5d

/** Splits the window into parts that can be read in one go. */
function partsOf(window: SeriesWindow, buckets: number): readonly SeriesWindow[] {
  const { tier, step_s, first_s, end_s } = window
  const span_s = buckets * step_s
  if (end_s - first_s <= span_s) return [window]
  const parts: SeriesWindow[] = []
  for (let at = first_s; at < end_s;) {
    const to = Math.min(end_s, at - (at % span_s) + span_s)
    parts.push({ tier, step_s, first_s: at, end_s: to })
    at = to
  }
  return parts
}

const [CORE, MORE] = METRIC_GROUPS
const groupOf = (metric: number): MetricGroup => (metric < CORE_COUNT ? CORE : MORE)

function groupsOf(metrics: readonly Metric[]): readonly MetricGroup[] {
  if (metrics === CORE_METRICS) return [CORE]
  const asked = new Set(metrics.map((metric) => groupOf(METRICS.indexOf(metric))))
  return METRIC_GROUPS.filter((group) => asked.has(group))
}

function namesOf(metrics: readonly Metric[]): string {
  return metrics === CORE_METRICS ? CORE_NAMES : JSON.stringify(metrics)
}
const CORE_NAMES = JSON.stringify(CORE_METRICS)

/**
 * Quotes a field. Spreadsheets run a text that begins like a formula; behind an apostrophe it stays text. Numbers are
 * written elsewhere and stay numbers.
 */
function csvField(value: string): string {
  const text = /^[=@+\-\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
