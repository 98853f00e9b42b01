import type { HistoryQuery } from '../api/figures.ts'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type {
  FromArchiveThread,
  HealthChange,
  LayerMessage,
  StatsSource,
  TickMessage,
} from '../../workers/archive/messages.ts'
import type { Clock } from '../clock.ts'
import { deferred } from '../deferred.ts'
import type { Log } from '../log.ts'
import type { HistoryAnswer } from './answers.ts'
import { ArchiveSide } from './archive-side.ts'
import { ArchiveThreadKeeper } from './archive-thread.ts'
import type { HistoryAnswers } from './history.ts'
import type { Layer4Stats } from './layer4-stats.ts'
import { LiveAnswers } from './live.ts'
import type { ObjectNames } from './names.ts'
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
  /** The statistics of Layer 4, whose archive the same thread writes. */
  readonly layer4?: Layer4Stats | undefined
  readonly applianceId: string
  /** Told which servers went up or down. */
  readonly onHealth: (changes: readonly HealthChange[]) => void
  readonly log: Log
  readonly clock: Clock
}

/** The statistics of Layer 7. Everything but the promises answers at once, from memory or from a read of the archive. */
export interface Stats {
  /** Answers `undefined` when the id is not in the running configuration. */
  readonly live: Pick<LiveAnswers, 'render' | 'health' | 'sessions' | 'figure' | 'counting'>
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
/** A poll takes 0.9 s at the most; a thread that its disk holds up may take for ever. */
const CAPTURE_MS = 5_000
/** No answer of HAProxy. */
const NOTHING = { csv: undefined, rows: undefined, layout: -1 } as const

/** The main thread's side: takes the archive thread's messages and answers from what they brought. */
export class StatsService implements Stats {
  readonly live: LiveAnswers
  readonly history: HistoryAnswers
  /** Resolves with the first `ready` of the thread. */
  readonly opened: Promise<void>
  readonly #log: Log
  readonly #told: Pick<StatsOptions, 'observer' | 'onHealth' | 'layer4'>
  readonly #thread: ArchiveThreadKeeper
  readonly #side: ArchiveSide
  readonly #open = deferred()
  /** Archives that have not been opened yet. */
  #unopened: number
  readonly #requests = new Map<number, (problems: readonly string[]) => void>()
  #request = 0
  #sequence = 0
  #state: StatsState
  #tick = deferred()
  readonly #silence: Silence

  constructor(options: StatsOptions) {
    const { directory, source, names, applianceId, observer, log, clock } = options
    const nonce = randomBytes(6).toString('base64url')
    this.#log = log
    this.#told = options
    this.#state = { up: false, since_ms: clock.now_ms(), reason: 'it has not been asked yet', storage: undefined }
    this.live = new LiveAnswers(names, nonce)
    const side = { directory, names, applianceId, observer, nonce, log }
    this.#side = new ArchiveSide({ ...side, message: 'Layer 7 history', step_s: 1 })
    this.history = this.#side.history
    const events = {
      message: (message: LayerMessage) => this.#receive(message),
      lost: (reason: string) => this.#lost(reason, clock.now_ms()),
    }
    this.#silence = new Silence(clock, (since_ms) => this.#heldUp(since_ms))
    const archives = { layer7: { directory, source }, layer4: options.layer4?.archive }
    this.#unopened = archives.layer4 === undefined ? 1 : 2
    this.#thread = new ArchiveThreadKeeper(archives, events, log, clock)
    const timer = setTimeout(() => this.#open.reject(new Error('the archive did not open in time')), OPEN_TIMEOUT_MS)
    this.opened = this.#open.promise.finally(() => clearTimeout(timer))
  }

  #receive({ layer, message }: LayerMessage): void {
    if (message.type === 'ready' && --this.#unopened === 0) this.#open.resolve()
    if (message.type === 'done') return this.#requests.get(message.request)?.(message.problems)
    if (layer === 'layer4') this.#told.layer4?.receive(message)
    else this.#receiveOwn(message)
    // Also when the thread was started anew, and knows nothing.
    const plan = this.#told.layer4?.archive && this.#told.layer4.newPlan()
    if (plan !== undefined) this.#thread.post({ type: 'plan', plan })
  }

  #receiveOwn(message: FromArchiveThread): void {
    switch (message.type) {
      case 'ready':
        return this.#side.ready(message)
      case 'slab':
        return this.#side.slab(message)
      case 'objects':
        return this.#side.placed(message)
      case 'tick':
        return this.#ticked(message)
      case 'warning':
        return this.#log.warn(message.message, { detail: message.detail })
    }
  }

  #ticked(message: TickMessage): void {
    const { up, since_ms, reason, storage, csv, rows, layout } = message
    this.#side.ticked(message)
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
    this.#told.layer4?.lost(reason)
  }

  #lost(reason: string, now_ms: number): void {
    this.#open.reject(new Error(`the archive could not be opened: ${reason}`))
    const text = `the statistics thread failed: ${reason}`
    this.#state = { up: false, since_ms: now_ms, reason: text, storage: this.#state.storage }
    this.live.update({ sequence: ++this.#sequence, ...NOTHING, since_ms: now_ms, reason: text })
    this.#told.layer4?.lost(text)
    this.#endRequests(text)
    this.#nextTick()
  }

  #endRequests(problem: string): void {
    for (const answer of this.#requests.values()) for (let left = 2; left > 0; left--) answer([problem])
    this.#requests.clear()
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

  /** An apply waits for it, so it ends in any case: figures are not worth an outage. */
  async capture(): Promise<void> {
    const patience = new AbortController()
    const late = sleep(CAPTURE_MS, undefined, { signal: patience.signal, ref: false }).catch(() => undefined)
    await Promise.race([this.#ask('capture', 1), late])
    patience.abort()
  }

  check(): Promise<readonly string[]> {
    return this.#ask('check', this.#told.layer4?.archive === undefined ? 1 : 2)
  }

  /** Each archive that is asked answers for itself. */
  #ask(type: 'capture' | 'check', answers: number): Promise<readonly string[]> {
    const request = ++this.#request
    const all: string[] = []
    let left = answers
    return new Promise((resolve) => {
      this.#requests.set(request, (problems) => {
        all.push(...problems)
        if (--left > 0) return
        this.#requests.delete(request)
        resolve(all)
      })
      if (this.#thread.post({ type, request })) return
      this.#requests.delete(request)
      resolve(['the statistics thread is just being started again'])
    })
  }

  clockStepped = (): void => void this.#thread.post({ type: 'clockStepped' })

  /** For tests: what a crash of the thread does. */
  crashThread = (): Promise<void> => this.#thread.crash()

  async close(): Promise<void> {
    this.#silence.stop()
    await this.#thread.stop()
    this.#endRequests('the statistics were closed')
    this.#nextTick()
    await this.#side.close()
    await this.#told.layer4?.close()
  }
}
