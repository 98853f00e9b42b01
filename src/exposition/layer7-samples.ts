import { ascii } from '../base/json-buffer.ts'
import { ChangedNumbers } from './changed-numbers.ts'
import { ColumnText, PORTION } from './column-text.ts'
import type { Exposition } from './exposition.ts'
import { type Family, sampleName } from './family.ts'
import type { Labels } from './labels.ts'
import { LAYER_7, LAYER_7_SERVER_STATE } from './layer7-families.ts'
import type { Layer7Input } from './layer7-input.ts'
import { type ByKind, byKind, OBJECT_KINDS, type ObjectKind, STATES } from './object-kinds.ts'
import { TakenColumns } from './taken-columns.ts'

/** The objects of one kind, while their names are unchanged. */
interface Objects {
  readonly labels: Labels
  readonly taken: TakenColumns
  /** Per object, which counts of servers are 0; empty if HAProxy has no such counts. */
  readonly lacks: Uint8Array
  readonly up: Words
  readonly state: Words
}

const CLOSE = ascii('} ')

/**
 * Writes samples of Layer 7 for one series of documents, directly from the bytes of HAProxy's last answer. A write must
 * be completed by `keep`; otherwise the object must not be used again.
 */
export class Layer7Samples {
  #known: { readonly version: number; readonly objects: ByKind<Objects> } | undefined
  readonly #texts = new Map<string, ColumnText>()
  readonly #written = new Set<ColumnText>()

  /** Notes the document that contains the last lines. */
  keep(document: Buffer): void {
    for (const text of this.#written) text.keep(document)
  }

  /** All samples are of one answer, although other work takes turns. Writes nothing while HAProxy does not answer. */
  *write(out: Exposition, input: Layer7Input | undefined): Generator<void> {
    this.#written.clear()
    if (input === undefined) {
      this.#texts.clear()
      this.#known = undefined
    } else for (const kind of OBJECT_KINDS) yield* this.#kind(out, kind, input)
  }

  *#kind(out: Exposition, kind: ObjectKind, input: Layer7Input): Generator<void> {
    const { labels, taken, lacks, up, state } = this.#objects(input)[kind]
    const families = LAYER_7[kind]
    yield* taken.read(input, input.kinds[kind].rowOf)
    if (kind === 'server') {
      const states = state.find((object) => stateOf(taken, object, input.states))
      yield* this.#lines(out, LAYER_7_SERVER_STATE, labels, states)
    }
    noteLacks(lacks, taken, kind)
    // HAProxy reports UP for a backend without servers: it answers 503, or a redirect, and no server is down.
    const hasNone = (object: number) => lacks[object] === LACKS_ALL && isUp(taken, object) === 1
    const ups = up.find((object) => (hasNone(object) ? undefined : isUp(taken, object)))
    yield* this.#lines(out, families.up, labels, ups)
    let place = 0
    for (const { family, columns } of families.columns) {
      out.begin(family)
      for (const { label } of columns) {
        const numbers = taken.numbers[place++]
        if (numbers !== undefined) yield* this.#column(out, family, label, labels, numbers)
      }
    }
  }

  *#lines(out: Exposition, family: Family, labels: Labels, numbers: ChangedNumbers): Generator<void> {
    out.begin(family)
    yield* this.#column(out, family, undefined, labels, numbers)
  }

  *#column(
    { out }: Exposition,
    family: Family,
    label: string | undefined,
    labels: Labels,
    numbers: ChangedNumbers,
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
      text.portion(out, first, Math.min(first + PORTION, length), numbers)
      yield
    }
  }

  #objects({ version, kinds }: Layer7Input): ByKind<Objects> {
    if (this.#known?.version !== version)
      this.#known = { version, objects: byKind((kind) => objectsOf(kind, kinds[kind].labels)) }
    return this.#known.objects
  }
}

const columnsOf = (kind: ObjectKind) =>
  LAYER_7[kind].columns.flatMap(({ columns, isMilliseconds = false }) =>
    columns.map(({ column }) => ({ column, isMilliseconds })),
  )

function objectsOf(kind: ObjectKind, labels: Labels): Objects {
  const { length } = labels.ends
  return {
    labels,
    taken: new TakenColumns(length, columnsOf(kind)),
    lacks: new Uint8Array(length),
    up: new Words(length),
    state: new Words(length),
  }
}

/** The columns with the numbers of active servers and of usable backup servers. */
const COUNTS = byKind((kind) =>
  kind === 'backend' ? ['act', 'bck'].map((name) => columnsOf(kind).findIndex(({ column }) => column === name)) : [],
)
const LACKS_ALL = 0b11

function noteLacks(lacks: Uint8Array, { numbers }: TakenColumns, kind: ObjectKind): void {
  for (const [bit, place] of COUNTS[kind].entries()) {
    const changed = numbers[place]
    for (let at = 0; at < (changed?.count ?? 0); at++) {
      const object = changed?.objects[at] ?? 0
      const isNone = changed?.lengths[at] === 1 && changed.bytes[changed.starts[at] ?? 0] === DIGITS[0]
      lacks[object] = ((lacks[object] ?? 0) & ~(1 << bit)) | (Number(isNone) << bit)
    }
  }
}

const DIGITS = ascii('012')
const NO_WORD = 0xff

/** Small numbers that stand for words; undefined for none. */
class Words {
  readonly #numbers: ChangedNumbers
  readonly #last: Uint8Array

  constructor(objects: number) {
    this.#numbers = new ChangedNumbers(objects, DIGITS)
    this.#last = new Uint8Array(objects).fill(NO_WORD)
  }

  /** Returns the objects whose word has changed. */
  find(of: (object: number) => number | undefined): ChangedNumbers {
    this.#numbers.count = 0
    for (let object = 0; object < this.#last.length; object++) {
      const number = of(object) ?? NO_WORD
      if (number === this.#last[object]) continue
      this.#last[object] = number
      this.#numbers.add(object, number, number === NO_WORD ? number : number + 1)
    }
    return this.#numbers
  }
}

/**
 * Interprets HAProxy's status by its first letters; undefined if it says nothing about health, or there are no checks.
 */
function isUp({ letters }: TakenColumns, object: number): 0 | 1 | undefined {
  const [first, second] = [letters[object * 2], letters[object * 2 + 1]]
  // UP, OPEN, NOLB, DRAIN; DOWN, STOP, PAUSED; neither MAINT nor "no check".
  if (first === 0x55 || first === 0x4f || first === 0x4e) return 1
  if (first === 0x44) return second === 0x4f ? 0 : 1
  return first === 0x53 || first === 0x50 ? 0 : undefined
}

/** Returns the applied state, or HAProxy's status if states are not applied here. */
function stateOf({ letters }: TakenColumns, object: number, states: Uint8Array): number | undefined {
  const state = states[object] ?? 0
  if (state > 0) return state - 1
  const [first, second] = [letters[object * 2], letters[object * 2 + 1]]
  if (first === 0) return undefined
  if (first === 0x4d) return STATES.halted
  return first === 0x44 && second === 0x52 ? STATES.drained : STATES.online
}
