import { Holders } from '../base/holders.ts'
import type { LiveView } from '../context/figures.ts'
import type { Rendered } from '../context/rendered.ts'
import type { Health } from '../model/real-server.ts'
import { fieldEnd, fieldText, type StatHeader } from '../drivers/haproxy/stats-csv.ts'
import { CountingAge, type CountingTotals } from './counting-age.ts'
import { healthOf } from './health.ts'
import { validity } from '../base/validity.ts'
import { ascii, isJsonInteger, JsonBuffer } from '../base/json-buffer.ts'
import type { FrameSource } from './figure-frames.ts'
import { KeptAnswers, writePieces } from './kept-answers.ts'
import { LIVE_FIELDS, type LiveKind, UNKNOWN_FIGURES } from './live-fields.ts'
import {
  hasObject,
  listObjects,
  listSome,
  type LiveElement,
  type LivePiece,
  type ObjectLists,
  planView,
  rowKey,
} from './live-plan.ts'
import { type LiveBytes, LiveRows, skipFields } from './live-rows.ts'
import { type OnFound, type ScanPlan, scanPlan, scanRows, type Watched } from './live-scan.ts'
import type { NamedBackend, NamedReal, ObjectNames } from './names.ts'
import { isSameRow, PASSING, UNUSED, USED } from './same-row.ts'

/** The result of the last poll. Without `csv` HAProxy did not answer. */
export interface LiveTick {
  readonly sequence: number
  readonly csv: Uint8Array | undefined
  /** Offset of the header row, then of every row that counts. */
  readonly rows: Uint32Array | undefined
  /** Kind of each row except the header, as HAProxy numbers them. */
  readonly kinds: Uint8Array | undefined
  /** Position of the status in each row except the header; 0 where it has none. */
  readonly statuses: Uint32Array | undefined
  readonly layout: number
  readonly since_ms: number
  readonly reason: string | undefined
  /** Frees the memory of `csv` when it is no longer read. */
  readonly free?: (() => void) | undefined
}

interface LastBytes extends LiveBytes {
  readonly statuses: Uint32Array
  readonly index: Pick<LiveRows, 'get' | 'columns'>
}

interface PreparedField {
  /** `,"name":` */
  readonly label: Uint8Array
  readonly column: number
  readonly text: boolean
}

const NULL = ascii('null')
const NONE = new Uint8Array(0)
/** Clients that follow figures get this column only when it starts again. */
const PASSING_COLUMN = 'lastchg'
const QUOTE = 0x22
/** The words for whether a real server takes traffic, as in every answer about it. */
const STATES = {
  online: ascii(',"state":"online"'),
  drained: ascii(',"state":"drained"'),
  halted: ascii(',"state":"halted"'),
  unknown: ascii(',"state":null'),
} as const

/** Renders live answers from the bytes of HAProxy's own answer, on request and at most once per tick and view. */
export class LiveAnswers implements FrameSource {
  readonly counting: CountingTotals = new CountingAge()
  readonly #names: ObjectNames
  readonly #kept: KeptAnswers
  #tick: LiveTick = {
    sequence: 0,
    csv: undefined,
    rows: undefined,
    kinds: undefined,
    statuses: undefined,
    layout: -1,
    since_ms: 0,
    reason: undefined,
  }
  /** The tick before, kept while the two are compared. */
  #before: LiveTick | undefined
  #isCompared = false
  /** The states at the last answer and at the one before: HAProxy's rows do not contain them. */
  #states = { last: 0, before: 0 }
  /** Ticks that are read over several turns. */
  readonly #holders = new Map<LiveTick, Holders>()
  readonly #rows = new LiveRows()
  #header = ''
  #scan: { readonly of: readonly Watched[]; readonly header: string; readonly plan: ScanPlan } | undefined
  #fields: Readonly<Record<LiveKind, readonly PreparedField[]>> = { frontend: [], backend: [], server: [] }
  #uses: Readonly<Record<LiveKind, Uint8Array>> = { frontend: NONE, backend: NONE, server: NONE }
  #columns = 0
  readonly #out = new JsonBuffer()
  #offsets = new Uint32Array(0)

  constructor(names: ObjectNames, nonce: string) {
    this.#names = names
    this.#kept = new KeptAnswers(nonce)
  }

  get names(): ObjectNames {
    return this.#names
  }

  update(tick: LiveTick): void {
    validity.endAnswers()
    this.counting.met(tick.layout)
    this.#kept.drop(this.#tick.sequence)
    const [before, last] = [this.#before, this.#tick]
    this.#before = this.#isCompared ? last : undefined
    this.#isCompared = false
    this.#states = { last: this.#statesNow, before: this.#states.last }
    this.#tick = tick
    if (tick.csv === undefined) this.#rows.forget()
    this.#free(before)
    this.#free(last)
  }

  get #statesNow(): number {
    return this.#names.states ?? 0
  }

  /**
   * Keeps the last answer unchanged until the returned function is called: for code that reads it over several turns.
   */
  hold(): () => void {
    const tick = this.#tick
    const holders = this.#holders.get(tick) ?? new Holders()
    this.#holders.set(tick, holders)
    return holders.hold(() => {
      this.#holders.delete(tick)
      this.#free(tick)
    })
  }

  /**
   * Frees a tick that is no longer used. Some megabytes come each second; left to the collector they would pile up
   * until it marks the whole heap, again and again.
   */
  #free(tick: LiveTick | undefined): void {
    if (tick === this.#tick || tick === this.#before || tick === undefined || this.#holders.has(tick)) return
    tick.free?.()
  }

  render(view: LiveView): Rendered<Uint8Array> | undefined {
    const { version } = this.#names
    const now = { sequence: this.#tick.sequence, version, states: this.#statesNow }
    return this.#kept.answer(
      view,
      now,
      () => planView(view, this.#names),
      (plan) => this.#write(plan),
    )
  }

  /** Returns the health of a real server over all backends that hold it. */
  health(ripId: string): Health {
    return healthOf(this.#statuses(ripId))
  }

  /**
   * Returns the current worker's sessions with a real server in each backend that holds it; undefined while HAProxy
   * does not answer. `proxy` and `server` are HAProxy's names.
   */
  sessions(ripId: string): readonly { readonly proxy: string; readonly server: string; readonly count?: number }[] {
    return (this.#names.backendsOfRip(ripId) ?? []).map((backend) => {
      const [proxy, server] = [backend.called ?? backend.id, calledIn(backend, ripId)]
      const count = this.figure(rowKey('server', proxy, server), 'scur')
      return count === undefined ? { proxy, server } : { proxy, server, count: Number(count) }
    })
  }

  /** Returns HAProxy's status, once per backend; `[]` while it does not answer. */
  #statuses(ripId: string): readonly string[] {
    return (this.#names.backendsOfRip(ripId) ?? []).flatMap((backend) => {
      const called = calledIn(backend, ripId)
      return this.figure(rowKey('server', backend.called ?? backend.id, called), 'status') ?? []
    })
  }

  /** Returns one column of one row (see `rowKey`) of HAProxy's last answer; undefined when it is not there. */
  figure(key: string, column: string): string | undefined {
    const bytes = this.bytes
    const [row, index] = [this.#rows.get(key), this.#rows.columns.get(column)]
    const start = row === undefined ? undefined : bytes?.rows[row]
    if (bytes === undefined || start === undefined || index === undefined) return undefined
    return fieldText(bytes.csv, skipFields(bytes.csv, start, index)) || undefined
  }

  /** HAProxy's last answer, and the objects of its rows; undefined while it does not answer. */
  get bytes(): LastBytes | undefined {
    const { csv, rows, kinds, statuses, layout } = this.#tick
    if (csv === undefined || rows === undefined || kinds === undefined || statuses === undefined) return undefined
    const bytes = { csv, rows, kinds, layout }
    if (this.#rows.follow(bytes)) this.#prepareFields(this.#rows.columns)
    return { ...bytes, statuses, index: this.#rows }
  }

  /** Finds the figures that are beyond a bound, all in one pass. Returns whether HAProxy has answered. */
  scan(watched: readonly Watched[], found: OnFound): boolean {
    const { bytes } = this
    if (bytes === undefined || this.#rows.layout < 0) return false
    if (this.#scan?.of !== watched || this.#scan.header !== this.#header)
      this.#scan = { of: watched, header: this.#header, plan: scanPlan(watched, this.#rows.columns) }
    scanRows(bytes.csv, bytes.rows, bytes.kinds, this.#scan.plan, found)
    return true
  }

  #write(plan: readonly LivePiece[]): JsonBuffer {
    const { bytes } = this
    const out = this.#out
    writePieces(out, this.problem ?? 'Layer 7 statistics', plan, (element) => this.#element(element, bytes, out))
    return out
  }

  /** Version of the names: while it stays the same, so do the objects. */
  get version(): number {
    return this.#names.version
  }
  objects(wanted?: ReadonlySet<string>): ObjectLists {
    return wanted === undefined ? listObjects(this.#names) : listSome(this.#names, wanted)
  }
  has(id: string): boolean {
    return hasObject(this.#names, id)
  }
  put(element: LiveElement, out: JsonBuffer): void {
    this.#element(element, this.bytes, out)
  }

  get sequence(): number {
    return this.#tick.sequence
  }

  since(sequence: number): ((element: LiveElement) => boolean) | undefined {
    this.#isCompared = true
    const { bytes, sequence: last } = this
    const before = this.#before
    if ((sequence === last ? this.#states.last : this.#states.before) !== this.#statesNow) return undefined
    if (sequence === last) return () => true
    if (bytes === undefined || before?.sequence !== sequence || before.layout !== bytes.layout) return undefined
    const { csv, rows } = before
    if (csv === undefined || rows === undefined) return undefined
    return ({ kind, rowKey: key }) => {
      const row = this.#rows.get(key)
      const [at, old] = row === undefined ? [] : [bytes.rows[row], rows[row]]
      return at === undefined || old === undefined || isSameRow(bytes.csv, at, csv, old, this.#uses[kind])
    }
  }

  /** The reason why there are no figures, when there are none. */
  get problem(): string | undefined {
    const { csv, since_ms, reason } = this.#tick
    if (csv !== undefined) return undefined
    if (since_ms === 0) return 'HAProxy has not been queried for statistics yet'
    return `HAProxy has not answered since ${new Date(since_ms).toISOString()}: ${reason ?? 'unknown reason'}`
  }

  /** Prepares the column numbers of the fields; again when HAProxy's header changes (an upgrade). */
  #prepareFields(columns: StatHeader['columns']): void {
    const text = [...columns.keys()].join()
    if (text === this.#header) return
    this.#header = text
    const prepare = (kind: LiveKind): readonly PreparedField[] =>
      LIVE_FIELDS[kind].map((field) => ({
        label: ascii(`,"${field.name}":`),
        column: columns.get(field.column) ?? -1,
        text: 'text' in field,
      }))
    this.#fields = { frontend: prepare('frontend'), backend: prepare('backend'), server: prepare('server') }
    const used = Object.values(this.#fields).flatMap((fields) => fields.map((field) => field.column))
    this.#columns = Math.max(...used) + 1
    const uses = (kind: LiveKind) => {
      const made = new Uint8Array(Math.max(...this.#fields[kind].map(({ column }) => column)) + 1).fill(UNUSED)
      for (const { column } of this.#fields[kind]) if (column >= 0) made[column] = USED
      const passing = columns.get(PASSING_COLUMN) ?? -1
      if (made[passing] === USED) made[passing] = PASSING
      return made
    }
    this.#uses = { frontend: uses('frontend'), backend: uses('backend'), server: uses('server') }
    this.#offsets = new Uint32Array(this.#columns + 1)
  }

  #element(element: LiveElement, bytes: LiveBytes | undefined, out: JsonBuffer): void {
    out.raw(element.head)
    const row = bytes === undefined ? undefined : this.#rows.get(element.rowKey)
    const start = row === undefined ? undefined : bytes?.rows[row]
    if (element.kind === 'server') out.raw(STATES[this.#stateOf(element)])
    if (bytes === undefined || start === undefined) out.raw(UNKNOWN_FIGURES[element.kind])
    else this.#figures(bytes.csv, start, this.#fields[element.kind], out)
  }

  /** Returns the configured state; for a HAProxy that is configured elsewhere, the one that HAProxy reports. */
  #stateOf({ id, rowKey: key }: LiveElement): keyof typeof STATES {
    const chosen = this.#names.state?.(id)
    if (chosen !== undefined) return chosen
    const status = this.figure(key, 'status')
    if (status === undefined) return 'unknown'
    return status.startsWith('MAINT') ? 'halted' : status.startsWith('DRAIN') ? 'drained' : 'online'
  }

  #figures(csv: Uint8Array, start: number, fields: readonly PreparedField[], out: JsonBuffer): void {
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
      else if (text || !isJsonInteger(csv, from, to)) writeText(csv, behindStar(csv, from), to, out)
      else out.copy(csv, from, to)
    }
  }
}

/** HAProxy's texts are plain ASCII except those from an administrator or a server. */
function writeText(csv: Uint8Array, from: number, to: number, out: JsonBuffer): void {
  for (let i = from; i < to; i++) {
    const byte = csv[i] ?? 0
    if (byte < 0x20 || byte > 0x7e || byte === QUOTE || byte === 0x5c) {
      out.text(JSON.stringify(fieldText(csv, from)))
      return
    }
  }
  out.byte(QUOTE)
  out.copy(csv, from, to)
  out.byte(QUOTE)
}

const [STAR, SPACE] = [0x2a, 0x20]

/** While a check is in progress, HAProxy puts a star before the status of the last one. */
const behindStar = (csv: Uint8Array, from: number) => (csv[from] === STAR && csv[from + 1] === SPACE ? from + 2 : from)

// Members are created again when names change, so their indexes live exactly as long as they do.
const callingsOf = new WeakMap<readonly NamedReal[], ReadonlyMap<string, string>>()

/** Returns HAProxy's name of a real server of this backend. A list of all real servers needs thousands of them. */
function calledIn({ reals }: NamedBackend, ripId: string): string {
  let callings = callingsOf.get(reals)
  if (callings === undefined) {
    callings = new Map(reals.map((real) => [real.ripId, real.called ?? real.ripId]))
    callingsOf.set(reals, callings)
  }
  return callings.get(ripId) ?? ripId
}
