import type { Points } from '../../storage/archive/consolidate.ts'
import { ceilTo, coverageStart, floorTo } from '../../storage/archive/layout.ts'
import { ArchiveReader } from '../../storage/archive/reader.ts'
import { RingReader } from '../../storage/archive/ring.ts'
import { CORE_COUNT, METRIC_COUNT, span_s, type Tier, TIERS, tierAt } from '../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../storage/archive/writer.ts'
import { RING_ROWS } from '../../storage/limits.ts'
import { ReferenceModel, seededRandom } from '../storage/archive/reference-model.ts'
import { compareParts, compareTiers, compareWithModel, insistSame, readTier, type Window } from './store-comparison.ts'

const NAMES = ['frontend', 'backend', 'steady', 'idle', 'comes', 'goes', 'rare']
/** The furthest that the archive's clock is set back; the later seconds are then written again. */
const BACK_S_MAX = 4_000
const SNAPSHOTS_MAX = 60
/** The longest time for which a disk refuses: longer than the ring lasts. */
const REFUSED_S_MAX = 400
/** Tables of tiers for a restart: the same steps, other chunks, and one with a shorter retention. */
const TABLES: readonly (readonly Tier[])[] = [
  TIERS,
  TIERS.map((tier) => ({ ...tier, points: tier.points / 2 })),
  TIERS.map((tier, index) => (index === 1 ? { ...tier, rows: tier.rows / 2, points: 24 } : tier)),
]

class RefusedError extends Error {}

interface Snapshot extends Window {
  readonly points: Points
}

/** One archive whose life is decided by a seed, and the model of its required content. */
export class ArchiveRun {
  readonly #directory: string
  readonly #random: () => number
  readonly #model = new ReferenceModel()
  readonly #start_s: number
  /** Objects that are away until this second. */
  readonly #away = new Map<string, number>()
  /** For each tier, the second before which data may already be trimmed: also after the clock was set back. */
  readonly #covered: number[] = TIERS.map(() => 0)
  #snapshots: Snapshot[] = []
  #writer: ArchiveWriter
  /** Earlier seconds have passed, including those that no commit has stored yet. */
  #now_s: number
  /** Before these seconds LMDB refuses this share of all transactions, and the disk accepts nothing at all. */
  #refused = { until_s: 0, share: 1 }
  #heldUntil_s = 0
  /** Columns compared so far. */
  compared = 0
  readonly events = noEvents()

  constructor(directory: string, seed: number) {
    this.#directory = directory
    this.#random = seededRandom(seed)
    this.#start_s = 1_700_000_000 + this.#whole(7_200)
    this.#writer = this.#opened(this.#start_s, TIERS)
    this.#now_s = this.#writer.hwm_s
  }

  /** Its transactions fail while LMDB refuses: before they change anything, or afterwards. */
  #opened(now_s: number, tiers: readonly Tier[]): ArchiveWriter {
    const writer = new ArchiveWriter(this.#directory, now_s, tiers)
    const { environment } = writer.databases
    const works = environment.transactionSync.bind(environment)
    environment.transactionSync = (work) => {
      if (this.#now_s >= this.#refused.until_s || this.#random() >= this.#refused.share) return works(work)
      if (this.#random() < 0.5) throw new RefusedError()
      return works(() => {
        work()
        throw new RefusedError()
      })
    }
    return writer
  }

  #whole(below: number): number {
    return Math.floor(this.#random() * below)
  }

  #value(metric: number): number {
    const kind = this.#random()
    return kind < 0.5 ? 0 : this.#whole(kind < 0.8 ? 10 : kind < 0.97 ? 100_000 : metric < CORE_COUNT ? 2e10 : 4e9)
  }

  #writeSecond(second: number): void {
    const { ring } = this.#writer
    ring.beginSecond(second)
    for (const name of NAMES) {
      if ((this.#away.get(name) ?? 0) > second || (name === 'rare' && this.#random() < 0.9)) continue
      const place = this.#writer.ensure(kindOf(name), name, kindOf(name) === 'server' ? 'backend' : '')
      if (place === undefined) throw new Error(`${name} is refused`)
      for (let metric = 0; metric < METRIC_COUNT; metric += 1) {
        // A polled object has a gauge; its counters may be unknown.
        if (metric > 0 && this.#random() < 0.02) continue
        const value = name === 'idle' ? 0 : this.#value(metric)
        ring.set(place.slot, second, metric, value)
        this.#model.set(name, metric, second, value)
      }
      if (this.#random() < 0.0005) this.#away.set(name, second + this.#whole(1_500))
    }
  }

  /** One commit, mostly of one second. */
  #tick(): void {
    const first = this.#now_s
    const n = this.#random() < 0.97 ? 1 : 2 + this.#whole(8)
    for (let second = first; second < first + n; second += 1) this.#writeSecond(second)
    this.#commit(first + n, true)
    this.events.seconds += n
  }

  #gap(): void {
    const kind = this.#random()
    const length = 1 + this.#whole(kind < 0.7 ? 20 : kind < 0.95 ? 700 : 9_000)
    this.#commit(this.#now_s + length, false)
    this.events.gaps += 1
  }

  /** Seconds that the ring lost before the disk recovered are unknown from then on, and no others. */
  #commit(to_s: number, sampled: boolean): void {
    const { hwm_s, ring } = this.#writer
    const oldest_s = ring.oldest()
    this.#now_s = to_s
    this.#attempt(() => this.#writer.commit(to_s, sampled, undefined))
    if (this.#writer.hwm_s > hwm_s) this.#forget(hwm_s, oldest_s)
  }

  /** Returns whether it was done. Only a disk that refuses may prevent it. */
  #attempt(work: () => void): boolean {
    const isHeld = this.#now_s < this.#heldUntil_s
    this.#writer.hold(isHeld ? 'held' : undefined)
    try {
      work()
      return true
    } catch (error) {
      if (!(error instanceof RefusedError) && !isHeld) throw error
      this.events.refused += 1
      return false
    }
  }

  #forget(from: number, to: number): void {
    if (from >= to) return
    this.#model.forget(from, to)
    this.#snapshots = this.#snapshots.filter((snapshot) => snapshot.to <= from)
  }

  /** From now on LMDB refuses, always or mostly, or the disk does, or both for separate times. */
  #refuse(): void {
    const kind = this.#random()
    const until_s = () => this.#now_s + 1 + this.#whole(REFUSED_S_MAX)
    if (kind < 0.7) this.#refused = { until_s: until_s(), share: this.#random() < 0.6 ? 1 : 0.5 }
    if (kind >= 0.5) this.#heldUntil_s = until_s()
    this.events.refusals += 1
  }

  #endFaults(): void {
    this.#refused.until_s = 0
    this.#heldUntil_s = 0
  }

  /** Only data on disk carry over. */
  async #restart(tiers: readonly Tier[] = this.#writer.databases.table): Promise<void> {
    const { hwm_s } = this.#writer
    await this.#writer.close()
    this.#writer = this.#opened(this.#now_s, tiers)
    if (this.#writer.hwm_s !== hwm_s) throw new Error(`restarted at ${this.#writer.hwm_s} instead of ${hwm_s}`)
    this.#forget(hwm_s, this.#now_s)
    if (hwm_s < this.#now_s) this.#commit(this.#now_s, false)
    this.events.restarts += 1
  }

  /** The disk works at the start itself. */
  async #otherTiers(): Promise<void> {
    this.#endFaults()
    await this.#restart(TABLES[this.#whole(TABLES.length)])
    this.events.otherTiers += 1
  }

  #stepBack(): void {
    const back = this.#now_s - 61 - this.#whole(BACK_S_MAX)
    this.#noteCoverage()
    // Once the finest tier has lost its beginning, the coarser ones cannot be rebuilt from there on.
    if (back <= this.#start_s || back > this.#writer.hwm_s || (this.#covered[0] ?? 0) > this.#start_s) return
    if (!this.#attempt(() => this.#writer.stepBack(back))) return
    this.#now_s = back
    this.#endFaults()
    this.#model.forgetFrom(back)
    this.#snapshots = this.#snapshots.filter(({ to }) => to <= back)
    this.#away.clear()
    this.events.stepsBack += 1
  }

  /** The clock is set ahead, runs so for a while, and is corrected: earlier data are still there, in every tier. */
  async #wrongClock(): Promise<void> {
    if (this.#writer.hwm_s < this.#now_s) return
    const right = this.#now_s
    const ahead = 3_600 + this.#whole(this.#random() < 0.5 ? 10 * 86_400 : 36 * 365 * 86_400)
    const faultsFor_s = [this.#refused.until_s - right, this.#heldUntil_s - right] as const
    this.#refused.until_s = right + ahead + faultsFor_s[0]
    this.#heldUntil_s = right + ahead + faultsFor_s[1]
    this.#commit(right + ahead, false)
    for (let ticks = this.#whole(this.#random() < 0.8 ? 30 : 900); ticks > 0; ticks -= 1) {
      this.#tick()
      const event = this.#random()
      if (event < 0.01) await this.#restart()
      else if (event < 0.015) this.#refuse()
    }
    const back = this.#now_s - ahead
    if (!this.#attempt(() => this.#writer.stepBack(back))) {
      this.#endFaults()
      this.#writer.hold(undefined)
      this.#writer.stepBack(back)
    }
    this.#endFaults()
    this.#now_s = back
    this.#model.forgetFrom(right)
    this.#away.clear()
    this.events.wrongClocks += 1
  }

  #noteCoverage(): void {
    for (const [tier, kept] of this.#writer.databases.table.entries()) {
      const { step_s } = kept
      const covered = coverageStart(kept, this.#now_s)
      this.#covered[tier] = Math.max(this.#covered[tier] ?? 0, covered, ceilTo(this.#start_s, step_s))
    }
  }

  /** All closed buckets of the tier. */
  #window(tier: number, place: Window['place']): Window {
    const from = floorTo(this.#covered[tier] ?? 0, tierAt(tier).step_s)
    return { tier, place, from, to: Math.max(from, floorTo(this.#now_s, tierAt(tier).step_s)) }
  }

  /** Part of it, with ends that are multiples of the step. */
  #part(window: Window, step_s: number): Window {
    const first = ceilTo(window.from, step_s)
    const buckets = Math.max(0, Math.floor((window.to - first) / step_s))
    const from = first + this.#whole(buckets + 1) * step_s
    const left = Math.max(0, Math.floor((window.to - from) / step_s))
    return { ...window, from, to: from + this.#whole(left + 1) * step_s }
  }

  compareAll(): void {
    const { header, slabs } = this.#writer.ring
    // While LMDB refuses for longer, seconds of open chunks are only in the crash tail, which is not read.
    const stored_s = new RingReader(header, slabs).stored()
    if (this.#now_s - stored_s > RING_ROWS - span_s(tierAt(0))) return
    const reader = new ArchiveReader(this.#directory, header, slabs)
    this.#noteCoverage()
    for (const place of this.#writer.objects()) {
      for (const [tier, { step_s }] of TIERS.entries()) {
        const window = this.#window(tier, place)
        this.compared += compareWithModel(reader, this.#model, window)
        const part = this.#part(window, step_s)
        const cut = part.from + this.#whole((part.to - part.from) / step_s + 1) * step_s
        this.compared += compareParts(reader, part, cut)
        this.#compareFiner(reader, window)
        if (this.#snapshots.length < SNAPSHOTS_MAX && this.#random() < 0.2)
          this.#snapshots.push({ ...part, points: readTier(reader, tier, place, part.from, part.to) })
      }
    }
    this.#compareSnapshots(reader)
  }

  #compareFiner(reader: ArchiveReader, window: Window): void {
    for (let finer = 0; finer < window.tier; finer += 1) {
      const from = Math.max(window.from, ceilTo(this.#covered[finer] ?? 0, tierAt(window.tier).step_s))
      if (from < window.to) this.compared += compareTiers(reader, { ...window, from }, finer)
    }
  }

  /** Buckets that were once closed stay the same for as long as they are kept. */
  #compareSnapshots(reader: ArchiveReader): void {
    this.#snapshots = this.#snapshots.filter(({ tier, from }) => from >= (this.#covered[tier] ?? 0))
    for (const { tier, place, from, to, points } of this.#snapshots) {
      const object = this.#writer.objects().find(({ name }) => name === place.name) ?? place
      this.compared += insistSame(`closed before: ${place.name}`, readTier(reader, tier, object, from, to), points)
    }
  }

  /** Runs so many ticks, with a comparison of everything now and then and at the end. */
  async live(ticks: number): Promise<void> {
    for (let tick = 0; tick < ticks; tick += 1) {
      this.#tick()
      const event = this.#random()
      if (event < 0.003) this.#gap()
      else if (event < 0.006) await this.#restart()
      else if (event < 0.008) this.#stepBack()
      else if (event < 0.01) this.compareAll()
      else if (event < 0.011) await this.#wrongClock()
      else if (event < 0.014) this.#refuse()
      else if (event < 0.0145) await this.#otherTiers()
    }
    await this.#otherTiers()
    this.#tick()
    this.compareAll()
  }

  get databases() {
    return this.#writer.databases
  }

  close(): Promise<void> {
    return this.#writer.close()
  }
}

export function noEvents() {
  return {
    seconds: 0,
    gaps: 0,
    restarts: 0,
    stepsBack: 0,
    wrongClocks: 0,
    refusals: 0,
    refused: 0,
    otherTiers: 0,
  }
}

function kindOf(name: string): 'frontend' | 'backend' | 'server' {
  return name === 'frontend' || name === 'backend' ? name : 'server'
}
