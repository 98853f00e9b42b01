import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Places } from '../base/places.ts'
import { turn } from '../base/turns.ts'
import type { FigureStreamsReader } from '../context/figure-streams.ts'
import type { Stream, StreamSink } from '../context/rendered.ts'
import { FigureFrames, type FrameSource } from './figure-frames.ts'
import { JsonBuffer } from '../base/json-buffer.ts'

export interface FigureStreamsParts {
  readonly layer7: FrameSource
  readonly layer4: FrameSource
  /** Resolves when the next second's figures are available. */
  readonly nextTick: () => Promise<void>
}

/** Limit for the different sets of followed objects: each costs one rendering per second. */
const SETS_MAX = 256
const SETS_EACH_MAX = 32
/** Time for which a set without clients is kept for clients that return. */
const REMEMBERED_MS = 15_000
/** Number of clients served in one turn, which takes about a millisecond; 5,000 take a third of a second. */
const AT_ONCE = 64
const PAUSE_MS = 4
/** A client that lost its stream reconnects after this time. */
const RETRY_MS = 2_000

interface Client {
  readonly sink: StreamSink
  /** The moment up to which the client has everything; negative when it has nothing. */
  knows: number
}

/** The clients that follow the same objects. */
class Followed {
  readonly clients = new Set<Client>()
  /** The number of each user's streams of this set, and the function that returns the user's place. */
  readonly holders = new Map<string, { streams: number; readonly free: () => void }>()
  readonly #frames: readonly [FigureFrames, FigureFrames]
  readonly #out = new JsonBuffer()
  /** Differs from that of every other set and process, and of every set that was followed before. */
  #generation = newGeneration()
  #moment = 0
  /** The texts of this moment, by the moment since which they contain changes. */
  readonly #texts = new Map<number, Buffer>()
  #isTelling = false
  /** Drops the set when no client has returned. */
  timer: NodeJS.Timeout | undefined

  constructor({ layer7, layer4 }: FigureStreamsParts, ids: readonly string[]) {
    const wanted = ids.length === 0 ? undefined : new Set(ids)
    this.#frames = [new FigureFrames(layer7, wanted), new FigureFrames(layer4, wanted)]
    this.look()
  }

  /** `isWhole`: include passing values, which are sent only to clients that have nothing yet. */
  look(isWhole = false): void {
    this.#moment++
    this.#texts.clear()
    const [isOther7, isOther4] = this.#frames.map((frames) => frames.look(this.#moment, isWhole))
    if (isOther7 !== true && isOther4 !== true) return
    this.#generation = newGeneration()
    for (const client of this.clients) client.knows = NOTHING
  }

  add(client: Client, lastId: string): void {
    const [, generation, moment = ''] = /^([\w-]{12})\.(\d{1,10})$/.exec(lastId) ?? []
    const known = Number(moment)
    if (generation === this.#generation && known <= this.#moment) client.knows = known
    this.clients.add(client)
    this.#tell(client)
  }

  /**
   * Serves the clients over a part of the second, so that most of the loop is left to pollers. A client that was not
   * reached before the next second gets more then.
   */
  async tellAll(): Promise<void> {
    if (this.#isTelling) return
    this.#isTelling = true
    try {
      let told = 0
      for (const client of this.clients) {
        this.#tell(client)
        if (++told % AT_ONCE === 0) await sleep(PAUSE_MS, undefined, { ref: false })
      }
    } finally {
      this.#isTelling = false
    }
  }

  /** A client that has not read its last text gets no other until it has: its queue does not grow. */
  #tell(client: Client): void {
    if (client.knows === this.#moment || client.sink.isBehind === true) return
    if (client.knows === NOTHING && !this.#frames.every(({ isFresh }) => isFresh)) this.look(true)
    const text = this.#textSince(client.knows)
    client.knows = this.#moment
    client.sink.write(text)
  }

  #textSince(moment: number): Buffer {
    let text = this.#texts.get(moment)
    if (text === undefined) {
      text = this.#write(moment)
      this.#texts.set(moment, text)
    }
    return text
  }

  /** Also written when nothing has changed: a client without any text takes its figures for stale. */
  #write(since: number): Buffer {
    const out = this.#out
    const [layer7, layer4] = this.#frames
    const isWhole = since === NOTHING
    out.clear()
    out.text(`id: ${this.#generation}.${this.#moment}\nevent: ${isWhole ? 'figures' : 'changed'}\ndata: {`)
    let hasAny = isWhole
    for (const [name, frames] of [
      ['layer7', layer7],
      ['layer4', layer4],
    ] as const) {
      const before = out.length
      out.text(`"${name}":`)
      if (isWhole) frames.writeAll(out)
      else if (frames.writeSince(since, out)) hasAny = true
      else {
        out.cut(before)
        continue
      }
      out.text(',')
    }
    if (hasAny) out.back()
    out.text('}\n\n')
    return out.take()
  }
}

const NOTHING = -1
const newGeneration = () => randomBytes(9).toString('base64url')

/**
 * The streams of live figures. However many clients follow the same objects, these are compared and written once a
 * second for all of them.
 */
export class FigureStreams implements FigureStreamsReader {
  readonly #parts: FigureStreamsParts
  readonly #sets = new Map<string, Followed>()
  readonly #places = new Places({
    what: 'different sets of figures',
    all_max: SETS_MAX,
    each_max: SETS_EACH_MAX,
    retryAfter_s: 10,
  })
  #isFollowing = false
  #isClosed = false

  constructor(parts: FigureStreamsParts) {
    this.#parts = parts
  }

  /** The number of sets that are followed or remembered. */
  get sets(): number {
    return this.#sets.size
  }

  has(id: string): boolean {
    return [this.#parts.layer7, this.#parts.layer4].some((source) => source.has(id))
  }

  stream(ids: readonly string[], lastId: string, userId: string): Stream {
    const key = ids.toSorted().join()
    // Tests the limit before the answer begins; the place is taken when it does.
    if (this.#sets.get(key)?.holders.has(userId) !== true) this.#places.take(userId)()
    return (sink) => {
      const set = this.#sets.get(key) ?? this.#begin(key, ids)
      clearTimeout(set.timer)
      let free: () => void
      try {
        free = this.#hold(set, userId)
      } catch {
        if (set.clients.size === 0) this.#remember(key, set)
        sink.end()
        return () => undefined
      }
      const client: Client = { sink, knows: NOTHING }
      sink.write(`retry: ${RETRY_MS}\n\n`)
      set.add(client, lastId)
      void this.#follow()
      return () => {
        set.clients.delete(client)
        free()
        if (set.clients.size === 0) this.#remember(key, set)
      }
    }
  }

  #begin(key: string, ids: readonly string[]): Followed {
    const set = new Followed(this.#parts, ids)
    this.#sets.set(key, set)
    return set
  }

  /** Takes one place for all streams of a user that follow the same objects. */
  #hold({ holders }: Followed, userId: string): () => void {
    const holder = holders.get(userId) ?? { streams: 0, free: this.#places.take(userId) }
    holders.set(userId, holder)
    holder.streams++
    return () => {
      holder.streams--
      if (holder.streams > 0) return
      holders.delete(userId)
      holder.free()
    }
  }

  #remember(key: string, set: Followed): void {
    clearTimeout(set.timer)
    // A client that follows one set after another without staying must not fill the memory with them.
    if (this.#sets.size > SETS_MAX) return void this.#sets.delete(key)
    set.timer = setTimeout(() => {
      if (set.clients.size === 0) this.#sets.delete(key)
    }, REMEMBERED_MS).unref()
    return undefined
  }

  /** Runs as long as any set is followed. */
  async #follow(): Promise<void> {
    if (this.#isFollowing) return
    this.#isFollowing = true
    while (!this.#isClosed && this.#followed().length > 0) {
      await this.#parts.nextTick()
      for (const set of this.#followed()) {
        set.look()
        void set.tellAll()
        await turn()
      }
    }
    this.#isFollowing = false
  }

  #followed(): readonly Followed[] {
    return [...this.#sets.values()].filter(({ clients }) => clients.size > 0)
  }

  close(): void {
    this.#isClosed = true
    for (const { timer } of this.#sets.values()) clearTimeout(timer)
    this.#sets.clear()
  }
}
