import type { HistoryQuery } from '../api/figures.ts'
import { randomBytes } from 'node:crypto'
import { ArchiveReader } from '../../storage/archive/reader.ts'
import { TIERS } from '../../storage/archive/tiers.ts'
import type { FromArchiveThread, HealthChange, StatsSource, TickMessage } from '../../workers/archive/messages.ts'
import type { Clock } from '../clock.ts'
import { deferred } from '../deferred.ts'
import type { Log } from '../log.ts'
import type { HistoryAnswer } from './answers.ts'
import { ArchiveThreadKeeper } from './archive-thread.ts'
import { HistoryAnswers } from './history.ts'
import { LiveAnswers } from './live.ts'
import type { ObjectNames } from './names.ts'
import { ArchiveObjects } from './objects.ts'
import { Silence } from './silence.ts'
import type { StatsState } from './state.ts'
import type { ArchiveObserver } from './observer.ts'

export interface StatsOptions {
  /** Folder of the archive's own LMDB environment; made when missing. */
  readonly directory: string
  readonly source: StatsSource
  readonly names: ObjectNames
  /** Told what HAProxy's answers hold, when the names come from them. */
  readonly observer?: ArchiveObserver | undefined
  readonly applianceId: string
  /** Told which servers went up or down. */
  readonly onHealth: (changes: readonly HealthChange[]) => void
  readonly log: Log
  readonly clock: Clock
}

/** The statistics of Layer 7. Everything but the promises answers at once, from memory or from a read of the archive. */
export interface Stats {
  /** Answers `undefined` when the id is not in the running configuration. */
  readonly live: Pick<LiveAnswers, 'render' | 'health' | 'figure' | 'counting'>
  /** `undefined` when the id is not in the running configuration. */
  readonly history: {
    frontend(id: string, query: HistoryQuery): HistoryAnswer | undefined
    backend(id: string, query: HistoryQuery): HistoryAnswer | undefined
    backendReals(id: string, query: HistoryQuery): HistoryAnswer | undefined
    rip(id: string, query: HistoryQuery): HistoryAnswer | undefined
  }
  /** Whether HAProxy answered the last poll, since when that is so, and why not. */
  state(): StatsState
  /** Resolves when the next poll has ended (answered or not) and its second is committed. */
  waitTick(): Promise<void>
  /** Polls at once. Call it right before a reload: what the ending worker counted since the last poll is then kept. */
  capture(): Promise<void>
  /** The clock of the machine was set on purpose: the archive follows at its next second, however far. */
  clockStepped(): void
  /** Verifies every invariant of the archive; `[]` when all hold. */
  check(): Promise<readonly string[]>
  /** Commits and closes. */
  close(): Promise<void>
}

/** Starts the archive thread and resolves when the archive is open. Rejects when it cannot be opened. */
export async function createStats(options: StatsOptions): Promise<Stats> {
  const service = new StatsService(options)
  try {
    await service.opened
  } catch (error) {
    await service.close()
    throw error
  }
  return service
}

/** The first message must come soon: opening an archive of 20,000 objects takes well under this. */
const OPEN_TIMEOUT_MS = 60_000
/** No answer of HAProxy. */
const NOTHING = { csv: undefined, rows: undefined, layout: -1 } as const

/** The main thread's side: takes the archive thread's messages and answers from what they brought. */
export class StatsService implements Stats {
  readonly live: LiveAnswers
  readonly history: HistoryAnswers
  /** Resolves with the first `ready` of the thread. */
  readonly opened: Promise<void>
  readonly #directory: string
  readonly #log: Log
  readonly #told: Pick<StatsOptions, 'observer' | 'onHealth'>
  readonly #thread: ArchiveThreadKeeper
  readonly #objects = new ArchiveObjects()
  readonly #open = deferred()
  readonly #requests = new Map<number, (problems: readonly string[]) => void>()
  #reader: ArchiveReader | undefined
  #request = 0
  #sequence = 0
  #hwm_s = 0
  #losses = 0
  #state: StatsState
  #tick = deferred()
  readonly #silence: Silence

  constructor(options: StatsOptions) {
    const { directory, source, names, applianceId, log, clock } = options
    const nonce = randomBytes(6).toString('base64url')
    this.#directory = directory
    this.#log = log
    this.#told = options
    this.#state = { up: false, since_ms: clock.now_ms(), reason: 'it has not been asked yet', storage: undefined }
    this.live = new LiveAnswers(names, nonce)
    this.history = new HistoryAnswers(this.#windows(), this.#objects, names, applianceId, nonce)
    const events = {
      message: (message: FromArchiveThread) => this.#receive(message),
      lost: (reason: string) => this.#lost(reason, clock.now_ms()),
    }
    this.#silence = new Silence(clock, (since_ms) => this.#heldUp(since_ms))
    this.#thread = new ArchiveThreadKeeper({ directory, source }, events, log, clock)
    const timer = setTimeout(() => this.#open.reject(new Error('the archive did not open in time')), OPEN_TIMEOUT_MS)
    this.opened = this.#open.promise.finally(() => clearTimeout(timer))
  }

  /** Before the archive is open there is nothing to read, and nobody has this object to ask it. */
  #windows(): ConstructorParameters<typeof HistoryAnswers>[0] {
    return {
      // Never ahead of the last message: a second is read once the places of all its objects are known.
      hwm_s: () => Math.min(this.#hwm_s, this.#reader?.hwm_s() ?? 0),
      tiers: () => this.#reader?.tiers() ?? TIERS,
      storage: () => this.#state.storage,
      readBase: (object, first_s, end_s, out) => this.#reader?.readBase(object, first_s, end_s, out),
      readCoarse: (tier, object, first_s, end_s, out) => this.#reader?.readCoarse(tier, object, first_s, end_s, out),
    }
  }

  #receive(message: FromArchiveThread): void {
    switch (message.type) {
      case 'ready':
        return this.#ready(message)
      case 'slab':
        return this.#reader?.addSlab(message.index, message.buffer)
      case 'objects':
        // First, as an object may be there again under its old name and another number.
        this.#objects.forget(message.forgotten)
        this.#told.observer?.forget(message.forgotten)
        this.#objects.add(message.added)
        this.#told.observer?.know(message.added)
        return this.#objects.remove(message.removed)
      case 'tick':
        return this.#ticked(message)
      case 'done':
        this.#requests.get(message.request)?.(message.problems)
        this.#requests.delete(message.request)
        return
      case 'warning':
        return this.#log.warn(message.message, { detail: message.detail })
      case 'stopped':
    }
  }

  #ready({ header, slabs, objects }: FromArchiveThread & { readonly type: 'ready' }): void {
    if (this.#reader === undefined) this.#reader = new ArchiveReader(this.#directory, header, slabs)
    else this.#reader.attach(header, slabs)
    const stored = this.#reader.objects()
    this.#objects.reset(stored, objects)
    this.#hwm_s = this.#reader.hwm_s()
    this.#told.observer?.know(stored.map(({ id, kind, name, backend }) => ({ objectId: id, kind, name, backend })))
    this.#told.observer?.know(objects)
    // Until HAProxy answers: what was there when it answered last.
    this.#told.observer?.list(stored.flatMap(({ id, died_s }) => (died_s === undefined ? [id] : [])))
    this.#open.resolve()
  }

  #ticked(message: TickMessage): void {
    const { up, since_ms, reason, hwm_s, losses, storage, csv, rows, layout } = message
    if (hwm_s < this.#hwm_s || losses !== this.#losses) this.history.forget()
    this.#hwm_s = hwm_s
    this.#losses = losses
    if (message.listed !== undefined) this.#told.observer?.list(message.listed)
    if (message.health !== undefined) this.#told.onHealth(message.health)
    // Who points at a socket is told when nobody answers there; a HAProxy of ours is only just being started.
    if (up !== this.#state.up || (this.#sequence === 0 && this.#told.observer !== undefined)) {
      if (up) this.#log.info('HAProxy answers with statistics')
      else this.#log.warn('HAProxy does not answer with statistics', { reason })
    }
    if (storage === undefined && this.#state.storage !== undefined) this.#log.info('the archive is stored again')
    this.#state = { up, since_ms, reason, storage }
    this.#silence.heard()
    this.live.update({ sequence: ++this.#sequence, csv, rows, layout, since_ms, reason })
    this.#nextTick()
  }

  /** HAProxy may well be fine, and its state is left alone; but what it said last is not what it says now. */
  #heldUp(since_ms: number): void {
    const reason = 'the statistics thread is held up, perhaps by its disk'
    this.#log.warn(reason)
    this.live.update({ sequence: ++this.#sequence, ...NOTHING, since_ms, reason })
  }

  #lost(reason: string, now_ms: number): void {
    this.#open.reject(new Error(`the archive could not be opened: ${reason}`))
    const text = `the statistics thread failed: ${reason}`
    this.#state = { up: false, since_ms: now_ms, reason: text, storage: this.#state.storage }
    this.live.update({ sequence: ++this.#sequence, ...NOTHING, since_ms: now_ms, reason: text })
    for (const answer of this.#requests.values()) answer([text])
    this.#requests.clear()
    this.#nextTick()
  }

  #nextTick(): void {
    const tick = this.#tick
    this.#tick = deferred()
    tick.resolve()
  }

  state(): StatsState {
    return this.#state
  }

  waitTick(): Promise<void> {
    return this.#tick.promise
  }

  async capture(): Promise<void> {
    await this.#ask('capture')
  }

  check(): Promise<readonly string[]> {
    return this.#ask('check')
  }

  #ask(type: 'capture' | 'check'): Promise<readonly string[]> {
    const request = ++this.#request
    return new Promise((resolve) => {
      this.#requests.set(request, resolve)
      this.#thread.post({ type, request })
    })
  }

  clockStepped = (): void => this.#thread.post({ type: 'clockStepped' })

  /** For tests: what a crash of the thread does. */
  crashThread = (): Promise<void> => this.#thread.crash()

  async close(): Promise<void> {
    this.#silence.stop()
    await this.#thread.stop()
    for (const answer of this.#requests.values()) answer(['the statistics were closed'])
    this.#requests.clear()
    this.#nextTick()
    await this.#reader?.close()
  }
}
