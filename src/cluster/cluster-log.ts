import { type Entry, type EntryLog, LostRaceError, type Takeover } from '../../storage/config/entry.ts'
import { defer } from '../base/deferred.ts'
import { newId } from '../base/ids.ts'
import type { Watch, WatchEvent } from '../etcd/watch.ts'
import { type Checkpoint, CHECKPOINT_EVERY, Checkpoints, digestOf, endOfLog } from './checkpoint.ts'
import { type ClusterLogParts, keepHalt, sleepFor } from './cluster-log-parts.ts'
import { decodeEnvelope, encodeEnvelope, type Envelope, envelopeOf, UnknownEntryError } from './envelope.ts'
import { EntryWriter } from './entry-writer.ts'
import { LargeValues, MissingPartError } from './large-values.ts'
import { GUARD, LOG_END, LOG_SPAN, logName, markerOf, positionIn } from './places.ts'
import { reasonOf } from '../base/reason.ts'
import { HoleError, lostRace, refused } from './refusals.ts'
import { SealingError } from './sealing.ts'

const AGAIN_MS = 100
/** The pause while the disk is full, or after a watch has ended. */
const PAUSE_MS = 500
const BEGINNINGS_MAX = 10
/** Nobody should wait longer to hear of another reason, if there is no majority or no room on the disk. */
const CATCH_UP_MS_MAX = 1_000
/** Interval of the checks whether the watch is complete. */
export const PROBE_MS = 2_000
/** Number of entries read at once: none is larger than 64 KiB. */
const READ_AT_ONCE = 64

/**
 * The log of a cluster in etcd: one order of entries that all nodes agree on. An entry is written in one transaction
 * that a guard admits only if its writer had folded everything before it, so the basis of its decision is still valid.
 * Every node folds all entries in their order, including its own; entries are numbered, so that a lost one is noticed.
 */
export class ClusterLog implements EntryLog {
  readonly nodeId: string
  readonly #parts: ClusterLogParts
  readonly #values: LargeValues
  readonly #writer: EntryWriter
  readonly #every: number
  readonly #closing = new AbortController()
  /** The folds, one after the other. */
  #folds: Promise<void> = Promise.resolve()
  #following = Promise.resolve()
  readonly #begunOnce = defer()
  /** Resolves when everything that was in the log at the start is folded. */
  readonly caughtUp: Promise<void> = this.#begunOnce.promise
  #watch: Watch | undefined
  #halted: string | undefined
  readonly #checkpoints: Checkpoints
  /** Digest of this store after the last multiple of the checkpoint interval. */
  #digest: { readonly position: number; readonly value: Promise<string> } | undefined
  #checkpointing: Promise<void> = Promise.resolve()

  private constructor(parts: ClusterLogParts) {
    this.nodeId = parts.nodeId
    this.#parts = parts
    if (parts.keptHalt?.why !== undefined) this.halt(parts.keptHalt.why)
    this.#every = parts.checkpointEvery ?? CHECKPOINT_EVERY
    this.#values = new LargeValues(parts.etcd, parts.keys, parts.learnKeys)
    this.#checkpoints = new Checkpoints(parts.etcd, this.#values, this.#every)
    const pause = (ms: number) => this.#pause(ms)
    this.#writer = new EntryWriter({ ...parts, values: this.#values, hasEnded: () => this.#hasEnded, pause })
  }

  /** Resolves when everything that is in the log by now is folded; from then on the store follows the log. */
  static async open(parts: ClusterLogParts): Promise<ClusterLog> {
    const log = new ClusterLog(parts)
    log.#following = log.#goOn(await log.#begun())
    return log
  }

  /** Like `open`, without waiting: the store can be read although no other node answers. See `caughtUp`. */
  static begin(parts: ClusterLogParts): ClusterLog {
    const log = new ClusterLog(parts)
    if (log.#hasEnded) log.#begunOnce.resolve()
    log.#following = log.#catchingUp()
    return log
  }

  async #catchingUp(): Promise<void> {
    while (!this.#hasEnded) {
      try {
        return await this.#goOn(await this.#begun())
      } catch (error) {
        this.#parts.log.warn('the log of the cluster cannot be read yet', { why: reasonOf(error) })
        await this.#pause(PAUSE_MS)
      }
    }
  }

  async #goOn(revision: number): Promise<void> {
    this.#begunOnce.resolve()
    await Promise.all([this.#follow(revision), this.#probe()])
  }

  /**
   * Catches up for the first time. A checkpoint may delete entries while they are read; then there is a newer one to
   * start from.
   */
  async #begun(): Promise<number> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#catchUp()
      } catch (error) {
        const isGone = error instanceof MissingPartError || error instanceof HoleError
        if (!isGone || tries === BEGINNINGS_MAX) throw error
        await this.#pause(AGAIN_MS)
      }
    }
  }

  get position(): number {
    return this.#parts.folding.position
  }

  /** The reason why folding has stopped for good; it needs an administrator. */
  get halted(): string | undefined {
    return this.#halted
  }

  /** Whether folding has stopped. */
  get #hasEnded(): boolean {
    return this.#halted !== undefined || this.#closing.signal.aborted
  }

  /**
   * Writes an entry and folds it.
   *
   * @throws {LostRaceError}
   * @throws {ApiError} NO_QUORUM when too few members of etcd answer, with what is known of the entry.
   * @throws the error of `check` for an entry that no node could fold: none would get past it.
   */
  async append(entry: Entry, since: number): Promise<void> {
    const { clock, nodeId, folding, admits } = this.#parts
    if (this.#hasEnded) throw refused(this.#halted)
    await admits?.(entry)
    if (this.position !== since) throw lostRace()
    folding.check(entry)
    const bytes = encodeEnvelope(envelopeOf(newId(), nodeId, new Date(clock.now_ms()).toISOString(), entry))
    // The form that others read, so that all fold the same: JSON leaves out fields that are undefined.
    const envelope = decodeEnvelope(bytes)
    const position = since + 1
    if (await this.#writer.write(bytes, envelope, since)) return await this.#takeOwn(position, envelope)
    await this.#values.forget(position, envelope.id).catch(() => undefined)
    // A node that cannot read the faster writer's entry gets it with its next try.
    await this.#catchUp().catch(() => undefined)
    throw lostRace()
  }

  /** Folds an own entry. It is in the log, so it is in force even if it can no longer be folded here. */
  async #takeOwn(position: number, envelope: Envelope): Promise<void> {
    await this.#take(position, envelope)
    if (this.position < position) throw refused(this.#halted, 'The change was written and is in effect')
  }

  async #opened(value: Uint8Array, position: number): Promise<Envelope> {
    return decodeEnvelope(await this.#values.opened(logName(position), value, position))
  }

  async catchUp(): Promise<void> {
    if (this.#hasEnded) return
    try {
      const { last } = await endOfLog(this.#parts.etcd, { timeout_ms: CATCH_UP_MS_MAX })
      // Entries that a full disk does not take would be waited for without end.
      if (last > this.position) await Promise.race([this.#catchUp(), sleepFor(CATCH_UP_MS_MAX, this.#closing.signal)])
    } catch {
      // Whoever asks goes on with what this node knows.
    }
  }

  /** Writes the first entry of another history. Etcd already consists of this node alone. */
  async takeOver(takeover: Omit<Takeover, 'since'>): Promise<void> {
    await this.#writeAgain()
    await this.#begun()
    await this.append({ op: 'takeover', takeover: { ...takeover, since: this.position } }, this.position)
  }

  /** Reads and folds everything behind the last folded entry. Returns the revision of etcd that it has read. */
  async #catchUp(): Promise<number> {
    for (;;) {
      const known = this.position
      const { entries, last, history, hasMore, revision } = await this.#read()
      if (last < known) this.#lacks(last, known)
      if (this.#hasEnded) return revision
      const [first] = entries
      const before = first === undefined ? last : positionIn(first.key) - 1
      if (before > this.position) await this.#begin()
      for (const entry of entries) await this.#take(positionIn(entry.key), entry.value)
      if (hasMore || this.position < last) continue
      // Nodes with the same folded entries have the same history; after `last` there may already be a takeover.
      if (this.position === last && history !== this.#parts.history())
        this.halt(`the cluster has continued with history ${history}, but this node has a different one`)
      return revision
    }
  }

  #lacks(last: number, known: number): void {
    const why = `the cluster's log ends at ${last}, but this node has already applied ${known}`
    if (this.#parts.isTakingOver?.() === true) throw new HoleError(why)
    this.halt(why)
  }

  /**
   * Restores dropped entries: an etcd that is forced to a single member drops entries that its disk does not show as
   * agreed on. Folded entries were agreed on, so they become a checkpoint, and the log continues behind it.
   */
  async #writeAgain(): Promise<void> {
    const { etcd, folding, log, history } = this.#parts
    const end = await endOfLog(etcd)
    if (this.#hasEnded || end.last >= this.position) return
    const [position, state] = [this.position, folding.snapshot()]
    await this.#checkpoints.write({ position, digest: await digestOf(state), state })
    const compare = [{ key: GUARD, of: 'value', is: '=', than: markerOf(end.history, end.last) }] as const
    await etcd.transact({ compare, success: [{ put: GUARD, value: markerOf(history(), position) }] })
    log.warn('entries that etcd had lost are written again', { from: end.last + 1, to: position })
  }

  /** Reads the entries behind the last folded one, and the guard at that moment. */
  async #read() {
    const from = logName(this.position + 1)
    const { last, history, revision } = await endOfLog(this.#parts.etcd)
    const entries = await this.#parts.etcd.range({ from, before: LOG_END }, { limit: READ_AT_ONCE, revision })
    return { entries: entries.kvs, hasMore: entries.hasMore, last, history, revision }
  }

  /** Starts from the checkpoint, as the log does not reach back to this store's position. */
  async #begin(): Promise<void> {
    const checkpoint = await this.#checkpoints.read()
    await this.#inTurn(async () => {
      if (this.#hasEnded) return
      if (checkpoint === undefined || checkpoint.position <= this.position)
        throw new HoleError(`entry ${this.position + 1} is missing`)
      await this.#parts.folding.replace(checkpoint.state, checkpoint.position)
      this.#parts.log.info('the store was loaded from a checkpoint', { position: checkpoint.position })
    })
  }

  /** Folds one entry, in its turn. An entry that is folded already is skipped; a gap leads to another read. */
  #take(position: number, found: Envelope | Uint8Array): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#hasEnded || position <= this.position) return
      if (position > this.position + 1) throw new HoleError(`entry ${this.position + 1} is missing`)
      const envelope = found instanceof Uint8Array ? await this.#readable(found, position) : found
      if (envelope === undefined) return
      if (!(await this.#fold(envelope, position))) return
      this.#parts.onFolded?.(envelope, position)
      await this.#compare(envelope, position)
    })
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#folds.then(work)
    this.#folds = turn.catch(() => undefined)
    return turn
  }

  /** Returns undefined when this node cannot read the entry, and so halts. */
  async #readable(value: Uint8Array, position: number): Promise<Envelope | undefined> {
    try {
      return await this.#opened(value, position)
    } catch (error) {
      if (!(error instanceof UnknownEntryError || error instanceof SealingError)) throw error
      const isLocked = error instanceof SealingError && error.code === 'KEY_UNKNOWN'
      const why = isLocked ? this.#parts.lockedOut?.() : undefined
      this.halt(why ?? `entry ${position} of the cluster's log cannot be applied on this node: ${error.message}`)
      return undefined
    }
  }

  /** Stops folding and writing for good. */
  halt(why: string): void {
    if (this.#hasEnded) return
    this.#halted = why
    this.#watch?.close()
    this.#parts.log.error('this node no longer follows the cluster', { why })
  }

  /**
   * Compares the nodes' states: after a fixed number of entries each node computes a digest of its state. The writer of
   * that entry stores a checkpoint, and sends its digest to the others in an entry.
   */
  async #compare({ node, entry }: Envelope, position: number): Promise<void> {
    const { folding, nodeId } = this.#parts
    if (entry.op === 'compare' && this.#digest?.position === entry.position) {
      const mine = await this.#digest.value
      if (mine !== entry.digest) {
        const why = `after entry ${entry.position} the state of this node differs from that of ${node}`
        this.halt(why)
        await keepHalt(this.#parts, why)
      }
    }
    if (position % this.#every !== 0) return
    const state = node === nodeId ? folding.snapshot() : undefined
    const value = digestOf(state ?? folding.records())
    this.#digest = { position, value }
    if (state !== undefined) {
      const store = async () => this.#store({ position, digest: await value, state })
      // One after the other, so that close() waits for all.
      this.#checkpointing = this.#checkpointing.then(store)
    }
  }

  /** Stores the current state, so that the checkpoint is sealed with the newest key. */
  seal(): Promise<void> {
    const { folding, keys } = this.#parts
    return this.#checkpoints.seal(folding, keys.newestKeyId, (work) => this.#inTurn(work))
  }

  /** Stores a checkpoint. If this fails, the next one is stored by the writer of the entry at which it is due. */
  async #store(checkpoint: Checkpoint): Promise<void> {
    const { position, digest } = checkpoint
    try {
      if (this.#hasEnded) return
      await this.#checkpoints.write(checkpoint)
      while (!this.#hasEnded) {
        try {
          return await this.append({ op: 'compare', position, digest }, this.position)
        } catch (error) {
          if (!(error instanceof LostRaceError)) throw error
        }
      }
    } catch (error) {
      this.#parts.log.warn('no checkpoint could be created', { position, why: String(error) })
    }
  }

  /** Returns whether the entry is folded: entries left when the log is closed are folded by the next start. */
  async #fold({ entry }: Envelope, position: number): Promise<boolean> {
    const { folding, log } = this.#parts
    while (!this.#closing.signal.aborted) {
      try {
        await folding.fold(entry, position)
        return true
      } catch (error) {
        // The entry is in force on all other nodes: it is folded as soon as there is room.
        log.error('an entry of the cluster log could not be stored; this is retried', { why: String(error) })
        await this.#pause(PAUSE_MS)
      }
    }
    return false
  }

  /** Folds the entries of other nodes as soon as they appear. */
  async #follow(seen: number): Promise<void> {
    const { etcd, log } = this.#parts
    let from = seen + 1
    while (!this.#hasEnded) {
      try {
        this.#watch = await etcd.watch(LOG_SPAN, { from })
        if (this.#hasEnded) this.#watch.close()
        for await (const report of this.#watch) {
          if (report.kind === 'events') await this.#takeAll(report.events)
          from = report.revision + 1
        }
        if (!this.#hasEnded) throw new HoleError('its watch did not report an existing entry')
      } catch (error) {
        if (this.#hasEnded) return
        log.warn('following of the cluster log restarts', { why: reasonOf(error) })
        await this.#pause(PAUSE_MS)
        from = await this.#catchUp().then(
          (revision) => revision + 1,
          () => from,
        )
      }
    }
  }

  /** Detects a dead watch: one whose member hangs, or that has lost the last event, looks like a quiet log. */
  async #probe(): Promise<void> {
    while (!this.#hasEnded) {
      await this.#pause(PROBE_MS)
      if (this.#hasEnded) return
      const [watch, before] = [this.#watch, this.position]
      const last = await endOfLog(this.#parts.etcd).then(
        (end) => end.last,
        () => 0,
      )
      if (last <= before) continue
      await this.#pause(PROBE_MS)
      if (this.position === before) watch?.close()
    }
  }

  async #takeAll(events: readonly WatchEvent[]): Promise<void> {
    for (const { kind, kv } of events) if (kind === 'put') await this.#take(positionIn(kv.key), kv.value)
  }

  /** Waits; ends early when the log is closed. */
  async #pause(ms: number): Promise<void> {
    const { pause = sleepFor } = this.#parts
    await pause(ms, this.#closing.signal).catch(() => undefined)
  }

  /** Stops following; entries whose fold has begun are folded first. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#watch?.close()
    await this.#following
    await this.#folds
    await this.#checkpointing
  }
}
