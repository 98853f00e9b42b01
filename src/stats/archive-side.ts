import { randomBytes } from 'node:crypto'
import type { ObjectKind } from '../../storage/archive/catalog.ts'
import { DAMAGED, damageText } from '../../storage/archive/damage.ts'
import { ArchiveReader } from '../../storage/archive/reader.ts'
import { CORE_COUNT, type Tier } from '../../storage/archive/tiers.ts'
import type {
  ArchiveOptions,
  FromArchive,
  TickMessage,
  TickState,
  ToArchiveThread,
} from '../../workers/archive/messages.ts'
import type { Log } from '../base/log.ts'
import { HistoryAnswers, type HistoryReader } from './history.ts'
import type { ObjectNames } from './names.ts'
import { ArchiveObjects } from './objects.ts'
import { scaledReader, stretch } from './scaled-reader.ts'
import type { ArchiveObserver } from './observer.ts'

export interface ArchiveSideOptions<Source> {
  readonly archive: ArchiveOptions<Source>
  readonly names: ObjectNames
  readonly applianceId: string
  /** Message of a history answer of this layer. */
  readonly message: string
  /** Length of the archive's seconds, in seconds. */
  readonly step_s: number
  /** Tiers in the archive's seconds, used until the archive is open and reports its own. */
  readonly tiers: readonly Tier[]
  readonly observer?: ArchiveObserver | undefined
  readonly log: Pick<Log, 'warn'>
}

/** The main thread's side of the archive of one layer: takes the archive thread's messages and answers from them. */
export abstract class ArchiveSide<Source, Tick> {
  readonly archive: ArchiveOptions<Source>
  readonly history: HistoryAnswers
  /** Start of the tags of its answers. */
  protected readonly nonce = randomBytes(6).toString('base64url')
  readonly #log: Pick<Log, 'warn'>
  readonly #step_s: number
  readonly #observer: ArchiveObserver | undefined
  readonly #objects = new ArchiveObjects()
  #reader: ArchiveReader | undefined
  #scaled: HistoryReader | undefined
  #hwm_s = 0
  #stored_s = 0
  #losses = 0
  #storage: TickState['storage']

  constructor(options: ArchiveSideOptions<Source>) {
    const { archive, names, applianceId, message, step_s, tiers, observer, log } = options
    this.archive = archive
    this.#log = log
    this.#step_s = step_s
    this.#observer = observer
    this.history = new HistoryAnswers(this.#windows(tiers), this.#objects, names, applianceId, this.nonce, message)
  }

  get isOpen(): boolean {
    return this.#reader !== undefined
  }

  /**
   * How much is stored: seconds before `stored_s` are on the disk; `losses` counts how often some turned out to be
   * lost; `storage` is the fault that keeps the archive from storing.
   */
  get kept(): Pick<TickState, 'stored_s' | 'losses' | 'storage'> {
    return { stored_s: this.#stored_s, losses: this.#losses, storage: this.#storage }
  }

  /** While the archive is not open there is nothing to read; without a thread that writes it, it is never open. */
  #windows(kept: readonly Tier[]): HistoryReader {
    const tiers = kept.map((tier) => stretch(tier, this.#step_s))
    return {
      // Never ahead of the last message: a second is read only once the places of all its objects are known.
      hwm_s: () => Math.min(this.#hwm_s, this.#scaled?.hwm_s() ?? 0),
      tiers: () => this.#scaled?.tiers() ?? tiers,
      storage: () => this.#storage,
      readBase: (object, first_s, end_s, out, columns) => this.#scaled?.readBase(object, first_s, end_s, out, columns),
      readCoarse: (tier, object, first_s, end_s, out) => this.#scaled?.readCoarse(tier, object, first_s, end_s, out),
    }
  }

  receive(message: FromArchive<Tick>): void {
    switch (message.type) {
      case 'ready':
        return this.#open(message)
      case 'slab':
        return this.#reader?.addSlab(message.index, message.buffer)
      case 'objects':
        return this.#place(message)
      case 'tick':
        this.#follow(message)
        return this.take(message)
      case 'warning':
        return this.#log.warn(message.message, { detail: message.detail })
    }
  }

  /** Called when a poll of the layer has ended. */
  protected abstract take(tick: TickMessage<Tick>): void

  /** The thread has been silent since `since_ms`: its last report no longer describes the present. */
  abstract interrupt(reason: string, since_ms: number): void

  /** The thread ended, and the one that replaces it starts without any knowledge. */
  lose(reason: string, now_ms: number): void {
    this.interrupt(reason, now_ms)
  }

  /** The message that the thread needs before it can continue; undefined when it has it already. */
  news(): ToArchiveThread | undefined {
    return undefined
  }

  /** Sessions of one object in the last second; undefined where they are not known. */
  protected lastSessions(kind: ObjectKind, name: string, backend: string): number | undefined {
    const object = this.#objects.find(kind, name, backend)
    if (object === undefined) return undefined
    const out = new Float64Array(CORE_COUNT)
    const isRead = this.#scaled?.readBase(object, this.#hwm_s - this.#step_s, this.#hwm_s, out, CORE_COUNT)
    const [sessions = Number.NaN] = out
    return isRead !== true || Number.isNaN(sessions) ? undefined : sessions
  }

  #open({ header, slabs, objects }: FromArchive<Tick> & { readonly type: 'ready' }): void {
    if (this.#reader === undefined) this.#reader = new ArchiveReader(this.archive.directory, header, slabs)
    else this.#reader.attach(header, slabs)
    this.#scaled = scaledReader(this.#reader, this.#step_s)
    const stored = this.#reader.objects()
    this.#objects.reset(stored, objects)
    this.#hwm_s = this.#scaled.hwm_s()
    this.#stored_s = this.#hwm_s
    this.#observer?.know(stored.map(({ id, kind, name, backend }) => ({ objectId: id, kind, name, backend })))
    this.#observer?.know(objects)
    // Until HAProxy answers, the objects of its last answer are listed.
    this.#observer?.list(stored.flatMap(({ id, died_s }) => (died_s === undefined ? [id] : [])))
  }

  #place({ added, removed, forgotten }: FromArchive<Tick> & { readonly type: 'objects' }): void {
    // Removals come first, as an object may be back under its old name with another number.
    this.#objects.forget(forgotten)
    this.#observer?.forget(forgotten)
    this.#objects.add(added)
    this.#observer?.know(added)
    this.#objects.remove(removed)
  }

  #follow({ hwm_s, stored_s, losses, storage }: TickState): void {
    if (hwm_s < this.#hwm_s || losses !== this.#losses) this.history.forget()
    this.#hwm_s = hwm_s
    this.#stored_s = stored_s
    this.#losses = losses
    this.#storage = storage
    const damage = damageText(this.#reader?.takeDamage() ?? [])
    if (damage !== undefined) this.#log.warn(DAMAGED, { detail: damage })
  }

  async close(): Promise<void> {
    await this.#reader?.close()
  }
}
