import type { HistoryQuery } from '../api/context.ts'
import { createHash } from 'node:crypto'
import { coverageStart } from '../../storage/archive/layout.ts'
import type { ObjectKind } from '../../storage/archive/catalog.ts'
import { selectTier, servedWindow } from '../../storage/archive/select.ts'
import { TIERS, tierAt } from '../../storage/archive/tiers.ts'
import { AnswerCache } from './answer-cache.ts'
import type { HistoryAnswer } from './answers.ts'
import { JsonBuffer } from './json-buffer.ts'
import { METRICS } from '../model/metrics.ts'
import type { ObjectNames } from './names.ts'
import type { ArchiveObjects } from './objects.ts'
import { Series, type SeriesWindow, type WindowReader } from './series.ts'

/** Points (objects × buckets) of one answer. Above it the next coarser tier answers, and the answer says so. */
export const HISTORY_POINTS_MAX = 400_000
/** Points of one object: the longest tier fits; a window that begins long before any data loses its empty head. */
export const HISTORY_SERIES_POINTS_MAX = 20_000

const MESSAGE = 'Layer 7 history'

/** One object of an answer: what it is called there and where the archive keeps it. */
interface Subject {
  /** Fields before the series, in order. */
  readonly labels: readonly (readonly [name: string, value: string])[]
  readonly kind: ObjectKind
  readonly name: string
  readonly backend: string
}

/** How the subjects stand in the answer: one object, a list under "reals", or a list of whole objects. */
type Shape = 'one' | 'reals' | 'list'

export interface HistoryReader extends WindowReader {
  hwm_s(): number
}

/** Renders history answers. All of it runs on the caller's thread: a read costs less than a hop to another thread. */
export class HistoryAnswers {
  readonly #reader: HistoryReader
  readonly #objects: ArchiveObjects
  readonly #names: ObjectNames
  readonly #applianceId: string
  readonly #nonce: string
  readonly #cache = new AnswerCache()
  readonly #series = new Series()
  readonly #out = new JsonBuffer()

  constructor(reader: HistoryReader, objects: ArchiveObjects, names: ObjectNames, applianceId: string, nonce: string) {
    this.#reader = reader
    this.#objects = objects
    this.#names = names
    this.#applianceId = applianceId
    this.#nonce = nonce
  }

  /** After a step of the clock the seconds to come may have other values than those answered before. */
  forget(): void {
    this.#cache.clear()
  }

  frontend(id: string, query: HistoryQuery): HistoryAnswer | undefined {
    const found = this.#names.frontend(id)
    if (found === undefined) return undefined
    const labels = [['id', id] as const, ['name', found.name] as const]
    return this.#answer(
      `frontend/${id}`,
      'one',
      [{ labels, kind: 'frontend', name: found.called ?? id, backend: '' }],
      query,
    )
  }

  backend(id: string, query: HistoryQuery): HistoryAnswer | undefined {
    const found = this.#names.backend(id)
    if (found === undefined) return undefined
    const labels = [['id', id] as const, ['name', found.name] as const]
    return this.#answer(
      `backend/${id}`,
      'one',
      [{ labels, kind: 'backend', name: found.called ?? id, backend: '' }],
      query,
    )
  }

  backendReals(id: string, query: HistoryQuery): HistoryAnswer | undefined {
    const found = this.#names.backend(id)
    if (found === undefined) return undefined
    const subjects = found.reals.map(({ ripId, name, called = ripId }) => ({
      labels: [['id', ripId] as const, ['name', name] as const],
      kind: 'server' as const,
      name: called,
      backend: found.called ?? id,
    }))
    const group = [['id', id] as const, ['name', found.name] as const]
    return this.#answer(`reals/${id}`, 'reals', subjects, query, group)
  }

  rip(id: string, query: HistoryQuery): HistoryAnswer | undefined {
    const backends = this.#names.backendsOfRip(id)
    if (backends === undefined) return undefined
    const subjects = backends.map((backend) => {
      const real = backend.reals.find(({ ripId }) => ripId === id)
      return {
        labels: [
          ['backendId', backend.id] as const,
          ['backendName', backend.name] as const,
          ['id', id] as const,
          ['name', real?.name ?? ''] as const,
        ],
        kind: 'server' as const,
        name: real?.called ?? id,
        backend: backend.called ?? backend.id,
      }
    })
    return this.#answer(`rip/${id}`, 'list', subjects, query)
  }

  /** The tier of the contract's rule, or a coarser one when the answer would be too large. */
  #window(query: HistoryQuery, subjects: number): SeriesWindow {
    const hwm_s = this.#reader.hwm_s()
    const share = Math.floor(HISTORY_POINTS_MAX / Math.max(1, subjects))
    const points_max = Math.max(1, Math.min(HISTORY_SERIES_POINTS_MAX, share))
    let tier = selectTier(TIERS, hwm_s, query.start, query.resolution)
    for (;;) {
      const { step_s } = tierAt(tier)
      const window = servedWindow(step_s, hwm_s, query.start, query.end)
      const covered = coverageStart(tierAt(tier), hwm_s)
      // Before its coverage a tier knows nothing: of a window far longer than that, the empty head is left out.
      const excess = (window.end_s - window.first_s) / step_s - points_max
      if (excess <= 0) return { tier, step_s, ...window }
      if (tier + 1 === TIERS.length || window.first_s + excess * step_s <= covered) {
        return { tier, step_s, first_s: window.first_s + excess * step_s, end_s: window.end_s }
      }
      tier++
    }
  }

  #answer(
    what: string,
    shape: Shape,
    subjects: readonly Subject[],
    query: HistoryQuery,
    group: Subject['labels'] = [],
  ): HistoryAnswer {
    const window = this.#window(query, subjects.length)
    const { step_s, first_s, end_s } = window
    const { version } = this.#names
    const key = `${what} ${step_s} ${query.consolidation} ${query.metrics.join()} ${first_s} ${end_s} ${query.format} ${version}`
    const ready = this.#cache.get(key)
    if (ready !== undefined) return ready
    this.#out.clear()
    if (query.format === 'csv') this.#csv(subjects, shape, query, window)
    else this.#json(subjects, shape, query, window, group)
    const answer = {
      body: this.#out.take(),
      etag: `"${createHash('sha1').update(this.#nonce).update(key).digest('base64url')}"`,
      contentType: query.format === 'csv' ? ('text/csv; charset=utf-8' as const) : ('application/json' as const),
    }
    this.#cache.put(key, answer)
    return answer
  }

  #json(
    subjects: readonly Subject[],
    shape: Shape,
    query: HistoryQuery,
    window: SeriesWindow,
    group: Subject['labels'],
  ): void {
    const out = this.#out
    const facts = this.#facts(query, window)
    out.text(`{"status":"success","message":"${MESSAGE}","data":`)
    if (shape === 'reals') out.text(`{${labelsJson(group)},${facts},"reals":[`)
    else if (shape === 'list') out.text('[')
    for (const [index, subject] of subjects.entries()) {
      out.text(`${index > 0 ? ',' : ''}{${labelsJson(subject.labels)},`)
      if (shape !== 'reals') out.text(`${facts},`)
      this.#seriesJson(subject, query, window)
      out.text('}')
    }
    if (shape === 'reals') out.text(']}')
    else if (shape === 'list') out.text(']')
    out.text('}')
  }

  /** What is the same for every object of the answer. */
  #facts(query: HistoryQuery, window: SeriesWindow): string {
    const { first_s, end_s, step_s } = window
    const served = `"start":${first_s},"end":${end_s},"resolution":${step_s}`
    const asked = `"consolidation":"${query.consolidation}","metrics":${JSON.stringify(query.metrics)}`
    return `"applianceId":${JSON.stringify(this.#applianceId)},${served},${asked}`
  }

  #seriesJson(subject: Subject, query: HistoryQuery, window: SeriesWindow): void {
    const out = this.#out
    this.#load(subject, query, window)
    out.text('"series":{')
    for (const [index, metric] of query.metrics.entries()) {
      out.text(`${index > 0 ? ',' : ''}"${metric}":[`)
      this.#series.writeJson(METRICS.indexOf(metric), out)
      out.text(']')
    }
    out.text('}')
  }

  #load(subject: Subject, query: HistoryQuery, window: SeriesWindow): void {
    const object = this.#objects.find(subject.kind, subject.name, subject.backend)
    this.#series.load(this.#reader, window, query.consolidation, object)
  }

  /** One row per bucket and object. An answer about several objects says which in columns of their own. */
  #csv(subjects: readonly Subject[], shape: Shape, query: HistoryQuery, window: SeriesWindow): void {
    const out = this.#out
    const columns = shape === 'one' ? [] : shape === 'reals' ? ['id', 'name'] : ['backendId', 'backendName']
    out.text(`${['time', ...columns, ...query.metrics].join()}\r\n`)
    for (const subject of subjects) {
      this.#load(subject, query, window)
      const labels = subject.labels.filter(([name]) => columns.includes(name)).map(([, value]) => `,${csvField(value)}`)
      for (let i = 0; i < this.#series.length; i++) {
        out.number(window.first_s + i * window.step_s)
        out.text(labels.join(''))
        for (const metric of query.metrics) {
          out.text(',')
          const value = this.#series.valueAt(METRICS.indexOf(metric), i)
          if (!Number.isNaN(value)) out.number(value)
        }
        out.text('\r\n')
      }
    }
  }
}

function labelsJson(labels: Subject['labels']): string {
  return labels.map(([name, value]) => `"${name}":${JSON.stringify(value)}`).join()
}

function csvField(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}
