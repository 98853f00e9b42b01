import { FlatMembers, sameBytes } from './flat-json.ts'
import { ascii, JsonBuffer } from '../base/json-buffer.ts'
import type { LiveElement, ObjectLists } from './live-plan.ts'

const LISTS = ['frontends', 'backends', 'reals'] as const satisfies readonly (keyof ObjectLists)[]

/** Live figures of one layer, as clients follow them. */
export interface FrameSource {
  /** Changes whenever the objects or their names change. */
  readonly version: number
  /** Returns all objects, or those with the wanted ids. */
  objects(wanted?: ReadonlySet<string>): ObjectLists
  has(id: string): boolean
  /** Writes an object as in its live answer, but without the closing brace. */
  put(element: LiveElement, out: JsonBuffer): void
  /** A number that changes with the figures; absent where `since` is. */
  readonly sequence?: number
  /**
   * Returns a test whether an object's figures are still those of this sequence, apart from passing values; undefined
   * where this is not known.
   */
  since?(sequence: number): ((element: LiveElement) => boolean) | undefined
  /** The reason why there are no figures; undefined when there are. */
  readonly problem: string | undefined
}

/** More members than any object has. */
const MEMBERS_MAX = 64
const [OPEN, COMMA, CLOSE] = [0x7b, 0x2c, 0x7d] as const
const CLOSE_LIST = ascii(']')
/** The member that passes by itself: it is sent only when it starts again. */
const PASSING = ascii('"lastChange":')
/** The members that identify the object. */
const NAMING = [ascii('"id":'), ascii('"backendId":')] as const

/**
 * The followed objects as they were last, and the moment at which each of their members got its value, so that the
 * changes since any moment can be written.
 */
export class FigureFrames {
  readonly #source: FrameSource
  readonly #wanted: ReadonlySet<string> | undefined
  #version = -1
  #lists: ObjectLists = { frontends: [], backends: [], reals: [] }
  #elements: readonly LiveElement[] = []
  #now = new JsonBuffer()
  #before = new JsonBuffer()
  /** Start of each object, and behind the last one its end. */
  #starts = new Uint32Array(1)
  #startsBefore = new Uint32Array(1)
  #changed = new Uint32Array(0)
  #latest = new Uint32Array(0)
  /** 1 for an object that is unchanged since the last look and was not written again. */
  #kept = new Uint8Array(0)
  #sequence = -1
  #isFresh = false
  #problem: string | undefined
  #problemSince = 0

  /** `wanted`: the ids to follow; undefined means everything. */
  constructor(source: FrameSource, wanted: ReadonlySet<string> | undefined) {
    this.#source = source
    this.#wanted = wanted
  }

  get size(): number {
    return this.#elements.length
  }

  /** Whether everything was written again, so that passing values are right as well. */
  get isFresh(): boolean {
    return this.#isFresh
  }

  /**
   * Looks at the figures at this moment; with `isWhole`, also at passing values. Returns whether everything must be
   * sent again.
   */
  look(moment: number, isWhole = false): boolean {
    const isOther = this.#source.version !== this.#version
    if (isOther) this.#begin(moment)
    ;[this.#now, this.#before] = [this.#before, this.#now]
    ;[this.#starts, this.#startsBefore] = [this.#startsBefore, this.#starts]
    const isAsBefore = isOther || isWhole ? undefined : this.#source.since?.(this.#sequence)
    this.#isFresh = isAsBefore === undefined
    this.#sequence = this.#source.sequence ?? -1
    this.#write(isAsBefore)
    if (!isOther) this.#compare(moment)
    const { problem } = this.#source
    if (problem !== this.#problem) this.#problemSince = moment
    this.#problem = problem
    return isOther
  }

  #begin(moment: number): void {
    this.#version = this.#source.version
    this.#lists = this.#source.objects(this.#wanted)
    this.#elements = LISTS.flatMap((list) => this.#lists[list])
    const count = this.#elements.length
    this.#starts = new Uint32Array(count + 1)
    this.#startsBefore = new Uint32Array(count + 1)
    this.#changed = new Uint32Array(count * MEMBERS_MAX).fill(moment)
    this.#latest = new Uint32Array(count).fill(moment)
    this.#kept = new Uint8Array(count)
  }

  /** Writes the objects: unchanged ones are copied, and adjacent ones in one copy. */
  #write(isAsBefore: ((element: LiveElement) => boolean) | undefined): void {
    const [out, before, starts, startsBefore] = [this.#now, this.#before.view(), this.#starts, this.#startsBefore]
    out.clear()
    let [from, to] = [0, 0]
    for (let at = 0; at < this.#elements.length; at++) {
      const element = this.#elements[at]
      if (element === undefined) continue
      const isKept = isAsBefore?.(element) === true
      this.#kept[at] = isKept ? 1 : 0
      if (isKept) {
        if (from === to) from = to = startsBefore[at] ?? 0
        starts[at] = out.length + to - from
        to = startsBefore[at + 1] ?? 0
        continue
      }
      if (from < to) out.append(before, from, to)
      from = to = 0
      starts[at] = out.length
      this.#source.put(element, out)
      out.byte(CLOSE)
    }
    if (from < to) out.append(before, from, to)
    starts[this.#elements.length] = out.length
  }

  #compare(moment: number): void {
    const [now, before] = [this.#now.view(), this.#before.view()]
    for (let at = 0; at < this.#elements.length; at++) {
      if (this.#kept[at] === 1) continue
      const [from, to] = [this.#starts[at] ?? 0, this.#starts[at + 1] ?? 0]
      const [old, oldTo] = [this.#startsBefore[at] ?? 0, this.#startsBefore[at + 1] ?? 0]
      if (to - from === oldTo - old && now.compare(before, old, oldTo, from, to) === 0) continue
      if (this.#compareOne(at, moment, new FlatMembers(now, from), new FlatMembers(before, old)))
        this.#latest[at] = moment
    }
  }

  /** Compares one object, which has the same members in the same order each time. */
  #compareOne(at: number, moment: number, now: FlatMembers, before: FlatMembers): boolean {
    const [bytes, old] = [this.#now.view(), this.#before.view()]
    let isOther = false
    for (let member = at * MEMBERS_MAX; now.next() && before.next(); member++) {
      if (sameBytes(bytes, now.value, now.end, old, before.value, before.end)) continue
      if (begins(bytes, now.start, PASSING) && numberAt(bytes, now) > numberAt(old, before)) continue
      this.#changed[member] = moment
      isOther = true
    }
    return isOther
  }

  /** Writes everything as JSON; passing values are right only when the frame is fresh. */
  writeAll(out: JsonBuffer): void {
    this.#writeLayer(out, true, (at) => {
      out.append(this.#now.view(), this.#starts[at] ?? 0, this.#starts[at + 1] ?? 0)
      return true
    })
  }

  /** Writes the changes since a moment; returns false when there are none. */
  writeSince(moment: number, out: JsonBuffer): boolean {
    let hasAny = this.#problemSince > moment
    this.#writeLayer(out, hasAny, (at) => {
      if ((this.#latest[at] ?? 0) <= moment) return false
      this.#writeChanged(at, moment, out)
      hasAny = true
      return true
    })
    return hasAny
  }

  /** Writes the lists of a layer; those without an object are left out unless everything is written. */
  #writeLayer(out: JsonBuffer, withProblem: boolean, write: (at: number) => boolean): void {
    out.byte(OPEN)
    if (withProblem) out.text(`"problem":${JSON.stringify(this.#problem ?? null)}`)
    let at = 0
    let isFirst = !withProblem
    for (const list of LISTS) {
      const start = out.length
      out.text(`${isFirst ? '' : ','}"${list}":[`)
      let count = 0
      for (const end = at + this.#lists[list].length; at < end; at++) {
        const before = out.length
        if (count > 0) out.byte(COMMA)
        if (write(at)) count++
        else out.cut(before)
      }
      if (count === 0) out.cut(start)
      else {
        out.raw(CLOSE_LIST)
        isFirst = false
      }
    }
    out.byte(CLOSE)
  }

  #writeChanged(at: number, moment: number, out: JsonBuffer): void {
    const bytes = this.#now.view()
    const members = new FlatMembers(bytes, this.#starts[at] ?? 0)
    out.byte(OPEN)
    for (let member = at * MEMBERS_MAX; members.next(); member++) {
      const isNaming = NAMING.some((name) => begins(bytes, members.start, name))
      if (!isNaming && (this.#changed[member] ?? 0) <= moment) continue
      out.append(bytes, members.start, members.end)
      out.byte(COMMA)
    }
    out.back()
    out.byte(CLOSE)
  }
}

function begins(bytes: Uint8Array, at: number, name: Uint8Array): boolean {
  for (let i = 0; i < name.length; i++) if (bytes[at + i] !== name[i]) return false
  return true
}

/** Returns the number of a member, NaN where there is none. */
const numberAt = (bytes: Buffer, { value, end }: FlatMembers): number => Number(bytes.toString('latin1', value, end))
