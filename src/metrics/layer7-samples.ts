import { ascii, JsonBuffer } from '../stats/json-buffer.ts'
import type { LiveKind } from '../stats/live-fields.ts'
import { rowKey } from '../stats/live-plan.ts'
import type { LiveAnswers } from '../stats/live.ts'
import type { ObjectNames } from '../stats/names.ts'
import { ColumnText, PORTION, type Values } from './column-text.ts'
import { type Exposition, labelText } from './exposition.ts'
import { type Family, sampleName } from './family.ts'
import { type ColumnFamily, LAYER_7, LAYER_7_SERVER_STATE } from './layer7-families.ts'
import { TakenColumns } from './taken-columns.ts'

export interface Layer7Parts {
  readonly live: Pick<LiveAnswers, 'bytes' | 'hold'>
  readonly names: ObjectNames
}

type Bytes = NonNullable<LiveAnswers['bytes']>

/** The objects of one kind, as they are called in labels and in HAProxy's answer. */
interface Objects {
  readonly ids: readonly string[]
  readonly keys: readonly string[]
  readonly labels: readonly Uint8Array[]
}
type Known = Readonly<Record<LiveKind, Objects>>

const KINDS: readonly LiveKind[] = ['frontend', 'backend', 'server']
const CLOSE = ascii('} ')

/**
 * Samples of Layer 7 for one series of documents, straight from the bytes of HAProxy's last answer. What was begun has
 * to be ended, by `keep`, or nothing more may come of it.
 */
export class Layer7Samples {
  readonly #parts: Layer7Parts
  #known: { readonly version: number; readonly objects: Known } | undefined
  /** Row numbers of the objects, for as long as neither rows nor names are others. */
  readonly #places = new Map<LiveKind, { readonly layout: number; readonly of: Objects; readonly rows: Int32Array }>()
  readonly #columns = new Map<LiveKind, { readonly of: Objects; readonly taken: TakenColumns }>()
  readonly #texts = new Map<string, ColumnText>()
  readonly #written = new Set<ColumnText>()

  constructor(parts: Layer7Parts) {
    this.#parts = parts
  }

  /** Everything is of one answer, although others have turns in between. Nothing while HAProxy does not answer. */
  *write(out: Exposition): Generator<void> {
    const { bytes } = this.#parts.live
    const letGo = this.#parts.live.hold()
    this.#written.clear()
    try {
      if (bytes === undefined) this.#texts.clear()
      else for (const kind of KINDS) yield* this.#kind(out, kind, bytes)
    } finally {
      letGo()
    }
  }

  /** What was written last stands in this document. */
  keep(document: Buffer): void {
    for (const text of this.#written) text.keep(document)
  }

  *#kind(out: Exposition, kind: LiveKind, bytes: Bytes): Generator<void> {
    const objects = this.#objects()[kind]
    const { up, columns } = LAYER_7[kind]
    const taken = this.#taken(kind, objects)
    yield* taken.read(bytes, this.#rows(kind, objects, bytes))
    if (kind === 'server') yield* this.#lines(out, LAYER_7_SERVER_STATE, objects, this.#statesIn(taken, objects))
    yield* this.#lines(out, up, objects, new UpValues(taken))
    let place = 1
    for (const one of columns) {
      out.begin(one.family)
      for (const { label } of one.columns) yield* this.#column(out, one, label, objects, valuesOf(one, taken, place++))
    }
  }

  *#lines(out: Exposition, family: Family, objects: Objects, values: Values): Generator<void> {
    out.begin(family)
    yield* this.#column(out, { family }, undefined, objects, values)
  }

  *#column(
    { out }: Exposition,
    { family }: Pick<ColumnFamily, 'family'>,
    label: string | undefined,
    { labels }: Objects,
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
    for (let first = 0; first < labels.length; first += PORTION) {
      text.portion(out, first, Math.min(first + PORTION, labels.length), values)
      yield
    }
  }

  #statesIn(taken: TakenColumns, { ids }: Objects): Values {
    const { names } = this.#parts
    return new WordValues((object) => {
      const state = names.state?.(ids[object] ?? '') ?? stateIn(taken, object)
      return state === undefined ? undefined : STATES[state]
    })
  }

  #objects(): Known {
    const { names } = this.#parts
    const { version } = names
    if (this.#known?.version !== version) this.#known = { version, objects: objectsOf(names) }
    return this.#known.objects
  }

  #taken(kind: LiveKind, objects: Objects): TakenColumns {
    const known = this.#columns.get(kind)
    if (known?.of === objects) return known.taken
    const names = LAYER_7[kind].columns.flatMap(({ columns }) => columns.map(({ column }) => column))
    const taken = new TakenColumns(objects.ids.length, ['status', ...names])
    this.#columns.set(kind, { of: objects, taken })
    return taken
  }

  #rows(kind: LiveKind, objects: Objects, { index, layout }: Bytes): Int32Array {
    const known = this.#places.get(kind)
    if (known?.layout === layout && known.of === objects) return known.rows
    const rows = Int32Array.from(objects.keys, (key) => index.get(key) ?? -1)
    this.#places.set(kind, { layout, of: objects, rows })
    return rows
  }
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

const STATES = { halted: 0, drained: 1, online: 2 } as const

/** What HAProxy says, where nobody chooses here. */
function stateIn(taken: TakenColumns, object: number): keyof typeof STATES | undefined {
  const [first, second] = taken.letters(object)
  if (first === undefined) return undefined
  if (first === 0x4d) return 'halted'
  return first === 0x44 && second === 0x52 ? 'drained' : 'online'
}

function objectsOf(names: ObjectNames): Known {
  const made = (kind: LiveKind) => ({ ids: [] as string[], keys: [] as string[], labels: [] as Uint8Array[], kind })
  const add = ({ ids, keys, labels, kind }: ReturnType<typeof made>, id: string, key: string, values: string[]) => {
    ids.push(id)
    keys.push(key)
    labels.push(ascii(labelText(LAYER_7[kind].up, values)))
  }
  const [frontend, backend, server] = [made('frontend'), made('backend'), made('server')]
  for (const { id, name, called = id } of names.frontends())
    add(frontend, id, rowKey('frontend', called, ''), [id, name])
  for (const { id, name, called = id, reals } of names.backends()) {
    add(backend, id, rowKey('backend', called, ''), [id, name])
    for (const { ripId, name: real, called: own = ripId } of reals)
      add(server, ripId, rowKey('server', called, own), [id, name, ripId, real])
  }
  return { frontend, backend, server }
}
