import type { LiveView } from '../api/figures.ts'
import type { Health } from '../model/real-server.ts'
// oxlint-disable-next-line no-restricted-imports -- live answers are copied byte by byte from HAProxy's own; its pure scanner is the one part of a driver that statistics need
import {
  BACKEND_ROW,
  fieldEnd,
  fieldText,
  findHeader,
  FRONTEND_ROW,
  type StatHeader,
} from '../drivers/haproxy/stats-csv.ts'
import type { LiveAnswer } from './answers.ts'
import { CountingAge, type CountingTotals } from './counting-age.ts'
import { healthOf } from './health.ts'
import { ascii, isJsonInteger, JsonBuffer } from './json-buffer.ts'
import { LIVE_FIELDS, type LiveKind, UNKNOWN_FIGURES } from './live-fields.ts'
import { type LiveElement, type LivePiece, planView, rowKey } from './live-plan.ts'
import type { ObjectNames } from './names.ts'

/** What the last poll brought. Without `csv` HAProxy did not answer. */
export interface LiveTick {
  readonly sequence: number
  readonly csv: Uint8Array | undefined
  /** Offset of the header row, then of every row that counts. */
  readonly rows: Uint32Array | undefined
  readonly layout: number
  readonly since_ms: number
  readonly reason: string | undefined
}

/** A quiet second brings the same bytes again: then the answer, its tag and its compressed forms stay. */
interface KeptAnswer {
  readonly answer: LiveAnswer
  /** The last tick that brought these bytes. */
  sequence: number
}

interface PreparedField {
  /** `,"name":` */
  readonly label: Uint8Array
  readonly column: number
  readonly text: boolean
}

const NULL = ascii('null')
const [COMMA, QUOTE, CLOSE] = [0x2c, 0x22, 0x7d] as const
/** Views kept rendered for one tick. A poller asks for few; ids that are asked once must not fill the memory. */
const VIEWS_MAX = 256

/** Renders live answers from the bytes of HAProxy's own answer: lazily, and at most once per tick and view. */
export class LiveAnswers {
  readonly counting: CountingTotals = new CountingAge()
  readonly #names: ObjectNames
  readonly #nonce: string
  #tick: LiveTick = { sequence: 0, csv: undefined, rows: undefined, layout: -1, since_ms: 0, reason: undefined }
  #version = -1
  readonly #plans = new Map<string, readonly LivePiece[] | undefined>()
  #layout = -1
  #header = ''
  readonly #rowIndex = new Map<string, number>()
  #fields: Readonly<Record<LiveKind, readonly PreparedField[]>> = { frontend: [], backend: [], server: [] }
  #columns = 0
  #columnsByName: StatHeader['columns'] = new Map()
  readonly #answers = new Map<string, KeptAnswer>()
  readonly #out = new JsonBuffer()
  #offsets = new Uint32Array(0)

  constructor(names: ObjectNames, nonce: string) {
    this.#names = names
    this.#nonce = nonce
  }

  update(tick: LiveTick): void {
    this.counting.met(tick.layout)
    // What nobody asked for during the last tick is not worth comparing with.
    for (const [key, { sequence }] of this.#answers) if (sequence !== this.#tick.sequence) this.#answers.delete(key)
    this.#tick = tick
    // Whoever answers next may count its layouts anew.
    if (tick.csv === undefined) this.#layout = -1
  }

  render(view: LiveView): LiveAnswer | undefined {
    if (this.#version !== this.#names.version) {
      this.#version = this.#names.version
      this.#plans.clear()
      this.#answers.clear()
    }
    const key = 'id' in view ? `${view.kind}/${view.id}` : view.kind
    const kept = this.#answers.get(key)
    const { sequence } = this.#tick
    if (kept?.sequence === sequence) return kept.answer
    const plan = this.#plan(key, view)
    if (plan === undefined) return undefined
    this.#write(plan)
    if (kept !== undefined && this.#out.equals(kept.answer.body)) {
      kept.sequence = sequence
      return kept.answer
    }
    const answer = { body: this.#out.take(), etag: `"${this.#nonce}-${sequence}-${this.#version}"` }
    if (this.#answers.size >= VIEWS_MAX) this.#answers.clear()
    this.#answers.set(key, { answer, sequence })
    return answer
  }

  /** What the health checks say of a real server, over all backends that hold it. */
  health(ripId: string): Health {
    return healthOf(this.#statuses(ripId))
  }

  /** HAProxy's own word, once per backend; `[]` while it does not answer. */
  #statuses(ripId: string): readonly string[] {
    return (this.#names.backendsOfRip(ripId) ?? []).flatMap((backend) => {
      const called = backend.reals.find((real) => real.ripId === ripId)?.called ?? ripId
      return this.figure(rowKey('server', backend.called ?? backend.id, called), 'status') ?? []
    })
  }

  /** What HAProxy's last answer says in one column of one row (see `rowKey`); undefined when it says nothing. */
  figure(key: string, column: string): string | undefined {
    this.#indexRows()
    const { csv, rows } = this.#tick
    const [row, index] = [this.#rowIndex.get(key), this.#columnsByName.get(column)]
    const start = row === undefined ? undefined : rows?.[row]
    if (csv === undefined || start === undefined || index === undefined) return undefined
    return fieldText(csv, this.#skip(csv, start, index)) || undefined
  }

  #plan(key: string, view: LiveView): readonly LivePiece[] | undefined {
    const known = this.#plans.get(key)
    if (known !== undefined) return known
    const plan = planView(view, this.#names)
    if (plan === undefined) return undefined
    if (this.#plans.size >= VIEWS_MAX) this.#plans.clear()
    this.#plans.set(key, plan)
    return plan
  }

  #write(plan: readonly LivePiece[]): void {
    const out = this.#out
    out.clear()
    out.text(`{"status":"success","message":${JSON.stringify(this.#message())},"data":`)
    this.#indexRows()
    for (const piece of plan) {
      if (piece instanceof Uint8Array) {
        out.raw(piece)
        continue
      }
      for (const [index, element] of piece.entries()) {
        if (index > 0) out.byte(COMMA)
        this.#element(element)
      }
    }
    out.byte(CLOSE)
  }

  #message(): string {
    const { csv, since_ms, reason } = this.#tick
    if (csv !== undefined) return 'Layer 7 statistics'
    if (since_ms === 0) return 'HAProxy has not been asked for statistics yet'
    return `HAProxy has not answered since ${new Date(since_ms).toISOString()}: ${reason ?? 'unknown reason'}`
  }

  /** Which row of the answer is which object; only when the rows have changed. */
  #indexRows(): void {
    const { csv, rows, layout } = this.#tick
    if (csv === undefined || rows === undefined || layout === this.#layout) return
    const header = findHeader(csv, rows[0])
    if (header === undefined) return
    this.#layout = layout
    this.#prepareFields(header)
    const type = header.columns.get('type') ?? 0
    this.#columnsByName = header.columns
    this.#rowIndex.clear()
    for (let row = 1; row < rows.length; row++) {
      const start = rows[row] ?? 0
      const proxy = fieldText(csv, start)
      const kind = Number(fieldText(csv, this.#skip(csv, start, type)))
      const server = fieldText(csv, this.#skip(csv, start, 1))
      this.#rowIndex.set(
        rowKey(kind === FRONTEND_ROW ? 'frontend' : kind === BACKEND_ROW ? 'backend' : 'server', proxy, server),
        row,
      )
    }
  }

  #skip(csv: Uint8Array, start: number, columns: number): number {
    let at = start
    for (let column = 0; column < columns; column++) at = fieldEnd(csv, at) + 1
    return at
  }

  /** Column numbers of the fields; anew when HAProxy's header is another one (an upgrade). */
  #prepareFields(header: StatHeader): void {
    const text = [...header.columns.keys()].join()
    if (text === this.#header) return
    this.#header = text
    const prepare = (kind: LiveKind): readonly PreparedField[] =>
      LIVE_FIELDS[kind].map((field) => ({
        label: ascii(`,"${field.name}":`),
        column: header.columns.get(field.column) ?? -1,
        text: 'text' in field,
      }))
    this.#fields = { frontend: prepare('frontend'), backend: prepare('backend'), server: prepare('server') }
    const used = Object.values(this.#fields).flatMap((fields) => fields.map((field) => field.column))
    this.#columns = Math.max(...used) + 1
    this.#offsets = new Uint32Array(this.#columns + 1)
  }

  #element(element: LiveElement): void {
    const out = this.#out
    const { csv, rows } = this.#tick
    out.raw(element.head)
    const row = csv === undefined ? undefined : this.#rowIndex.get(element.rowKey)
    const start = row === undefined ? undefined : rows?.[row]
    if (csv === undefined || start === undefined) out.raw(UNKNOWN_FIGURES[element.kind])
    else this.#figures(csv, start, this.#fields[element.kind])
    out.byte(CLOSE)
  }

  #figures(csv: Uint8Array, start: number, fields: readonly PreparedField[]): void {
    const out = this.#out
    const offsets = this.#offsets
    let at = start
    for (let column = 0; column < this.#columns; column++) {
      offsets[column] = at
      at = fieldEnd(csv, at) + 1
    }
    offsets[this.#columns] = at
    for (const { label, column, text } of fields) {
      out.raw(label)
      const from = offsets[column] ?? 0
      const to = (offsets[column + 1] ?? 0) - 1
      if (column < 0 || to <= from) out.raw(NULL)
      else if (text || !isJsonInteger(csv, from, to)) this.#text(csv, from, to)
      else out.copy(csv, from, to)
    }
  }

  /** Texts of HAProxy are plain ASCII but for what an administrator or a server put there. */
  #text(csv: Uint8Array, from: number, to: number): void {
    for (let i = from; i < to; i++) {
      const byte = csv[i] ?? 0
      if (byte < 0x20 || byte > 0x7e || byte === QUOTE || byte === 0x5c)
        return this.#out.text(JSON.stringify(fieldText(csv, from)))
    }
    this.#out.byte(QUOTE)
    this.#out.copy(csv, from, to)
    this.#out.byte(QUOTE)
  }
}
