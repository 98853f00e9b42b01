import { ascii, JsonBuffer } from '../base/json-buffer.ts'
import { ColumnText, PORTION, type Values } from './column-text.ts'
import type { Exposition } from './exposition.ts'
import { type Family, sampleName } from './family.ts'
import type { Labels } from './labels.ts'
import { type ColumnFamily, LAYER_7, LAYER_7_SERVER_STATE } from './layer7-families.ts'
import type { Layer7Input } from './layer7-input.ts'
import { type ByKind, byKind, OBJECT_KINDS, type ObjectKind, STATES } from './object-kinds.ts'
import { TakenColumns } from './taken-columns.ts'

/** The objects of one kind, for as long as they are called the same. */
interface Objects {
  readonly labels: Labels
  readonly taken: TakenColumns
}

const CLOSE = ascii('} ')

/**
 * Samples of Layer 7 for one series of documents, straight from the bytes of HAProxy's last answer. What was begun has
 * to be ended, by `keep`, or nothing more may come of it.
 */
export class Layer7Samples {
  #known: { readonly version: number; readonly objects: ByKind<Objects> } | undefined
  readonly #texts = new Map<string, ColumnText>()
  readonly #written = new Set<ColumnText>()

  /** What was written last stands in this document. */
  keep(document: Buffer): void {
    for (const text of this.#written) text.keep(document)
  }

  /** Everything is of one answer, although others have turns in between. Nothing while HAProxy does not answer. */
  *write(out: Exposition, input: Layer7Input | undefined): Generator<void> {
    this.#written.clear()
    if (input === undefined) this.#texts.clear()
    else for (const kind of OBJECT_KINDS) yield* this.#kind(out, kind, input)
  }

  *#kind(out: Exposition, kind: ObjectKind, input: Layer7Input): Generator<void> {
    const { labels, taken } = this.#objects(input)[kind]
    const { up, columns } = LAYER_7[kind]
    yield* taken.read(input, input.kinds[kind].rowOf)
    if (kind === 'server') yield* this.#lines(out, LAYER_7_SERVER_STATE, labels, new StateValues(taken, input.states))
    yield* this.#lines(out, up, labels, new UpValues(taken))
    let place = 1
    for (const one of columns) {
      out.begin(one.family)
      for (const { label } of one.columns) yield* this.#column(out, one, label, labels, valuesOf(one, taken, place++))
    }
  }

  *#lines(out: Exposition, family: Family, labels: Labels, values: Values): Generator<void> {
    out.begin(family)
    yield* this.#column(out, { family }, undefined, labels, values)
  }

  *#column(
    { out }: Exposition,
    { family }: Pick<ColumnFamily, 'family'>,
    label: string | undefined,
    labels: Labels,
    values: Values,
  ): Generator<void> {
    const key = `${family.name}${label ?? ''}`
    let text = this.#texts.get(key)
    if (text === undefined || text.labels !== labels) {
      text = new ColumnText(ascii(sampleName(family)), labels, label === undefined ? CLOSE : ascii(label))
      this.#texts.set(key, text)
    }
    this.#written.add(text)
    text.begin(out)
    const { length } = labels.ends
    for (let first = 0; first < length; first += PORTION) {
      text.portion(out, first, Math.min(first + PORTION, length), values)
      yield
    }
  }

  #objects({ version, kinds }: Layer7Input): ByKind<Objects> {
    if (this.#known?.version !== version)
      this.#known = { version, objects: byKind((kind) => objectsOf(kind, kinds[kind].labels)) }
    return this.#known.objects
  }
}

function objectsOf(kind: ObjectKind, labels: Labels): Objects {
  const names = LAYER_7[kind].columns.flatMap(({ columns }) => columns.map(({ column }) => column))
  return { labels, taken: new TakenColumns(labels.ends.length, ['status', ...names]) }
}

const valuesOf = ({ isMilliseconds }: ColumnFamily, taken: TakenColumns, place: number): Values =>
  isMilliseconds === true ? new SecondsValues(taken, place) : new IntegerValues(taken, place)

/** Numbers as HAProxy wrote them. */
class IntegerValues implements Values {
  bytes: Uint8Array
  from = 0
  to = 0
  readonly #taken: TakenColumns
  readonly #place: number

  constructor(taken: TakenColumns, place: number) {
    this.#taken = taken
    this.bytes = taken.digits
    this.#place = place
  }

  find(object: number): void {
    this.from = this.#taken.from(object, this.#place)
    this.to = this.from + this.#taken.length(object, this.#place)
  }
}

const MILLI = 1_000

/** The same of columns that are milliseconds. */
class SecondsValues implements Values {
  bytes: Uint8Array
  from = 0
  to = 0
  readonly #whole: IntegerValues
  readonly #scratch = new JsonBuffer()

  constructor(taken: TakenColumns, place: number) {
    this.#whole = new IntegerValues(taken, place)
    this.bytes = this.#scratch.view()
  }

  find(object: number): void {
    this.#whole.find(object)
    const { bytes, from, to } = this.#whole
    let value = 0
    for (let at = from; at < to; at++) value = value * 10 + (bytes[at] ?? 0) - ZERO
    this.#scratch.clear()
    if (to > from) this.#scratch.number(value / MILLI)
    this.bytes = this.#scratch.view()
    this.to = this.#scratch.length
  }
}

const ZERO = 0x30
const DIGITS = ascii('012')

/** Small numbers that stand for words. */
class WordValues implements Values {
  readonly bytes = DIGITS
  from = 0
  to = 0
  readonly #of: (object: number) => number | undefined

  constructor(of: (object: number) => number | undefined) {
    this.#of = of
  }

  find(object: number): void {
    const number = this.#of(object)
    this.from = number ?? 0
    this.to = number === undefined ? this.from : number + 1
  }
}

/** HAProxy's word, by its first letters; nothing where it is about something else, or nobody checks. */
class UpValues extends WordValues {
  constructor(taken: TakenColumns) {
    super((object) => {
      const [first, second] = taken.letters(object)
      // UP, OPEN, NOLB, DRAIN; DOWN, STOP; neither MAINT nor "no check".
      if (first === 0x55 || first === 0x4f || first === 0x4e) return 1
      if (first === 0x44) return second === 0x4f ? 0 : 1
      return first === 0x53 ? 0 : undefined
    })
  }
}

/** What was chosen, or what HAProxy says where nobody chooses here. */
class StateValues extends WordValues {
  constructor(taken: TakenColumns, states: Uint8Array) {
    super((object) => {
      const state = states[object] ?? 0
      return state > 0 ? state - 1 : stateIn(taken, object)
    })
  }
}

function stateIn(taken: TakenColumns, object: number): number | undefined {
  const [first, second] = taken.letters(object)
  if (first === undefined) return undefined
  if (first === 0x4d) return STATES.halted
  return first === 0x44 && second === 0x52 ? STATES.drained : STATES.online
}
