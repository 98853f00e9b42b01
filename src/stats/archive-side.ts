import { DAMAGED, damageText } from '../../storage/archive/damage.ts'
import { ArchiveReader } from '../../storage/archive/reader.ts'
import { TIERS, type Tier } from '../../storage/archive/tiers.ts'
import type { FromArchiveThread, TickState } from '../../workers/archive/messages.ts'
import type { Log } from '../log.ts'
import { HistoryAnswers, type HistoryReader } from './history.ts'
import type { ObjectNames } from './names.ts'
import { ArchiveObjects } from './objects.ts'
import { scaledReader } from './scaled-reader.ts'
import type { ArchiveObserver } from './observer.ts'

export interface ArchiveSideOptions {
  /** Folder of the archive's own LMDB environment. */
  readonly directory: string
  readonly names: ObjectNames
  readonly applianceId: string
  /** Begins the tags of its answers. */
  readonly nonce: string
  /** What a history answer of it is called. */
  readonly message: string
  /** Length of the archive's seconds. */
  readonly step_s: number
  readonly tiers?: readonly Tier[]
  readonly observer?: ArchiveObserver | undefined
  readonly log: Pick<Log, 'warn'>
}

/** What the thread says of an archive's objects and places, and the readers' side of it in this thread. */
export class ArchiveSide {
  readonly history: HistoryAnswers
  readonly #directory: string
  readonly #log: ArchiveSideOptions['log']
  readonly #step_s: number
  readonly #observer: ArchiveObserver | undefined
  readonly #objects = new ArchiveObjects()
  #reader: ArchiveReader | undefined
  #scaled: HistoryReader | undefined
  #hwm_s = 0
  #losses = 0
  #storage: TickState['storage']

  constructor({ directory, names, applianceId, nonce, message, step_s, tiers = TIERS, ...told }: ArchiveSideOptions) {
    const { observer, log } = told
    this.#log = log
    this.#directory = directory
    this.#step_s = step_s
    this.#observer = observer
    this.history = new HistoryAnswers(this.#windows(tiers), this.#objects, names, applianceId, nonce, message)
  }

  /** What keeps the archive from storing, as of the last tick. */
  get storage(): TickState['storage'] {
    return this.#storage
  }

  /** Before the archive is open there is nothing to read, and nobody has this object to ask it. */
  #windows(tiers: readonly Tier[]): HistoryReader {
    return {
      // Never ahead of the last message: a second is read once the places of all its objects are known.
      hwm_s: () => Math.min(this.#hwm_s, this.#scaled?.hwm_s() ?? 0),
      tiers: () => this.#scaled?.tiers() ?? tiers,
      storage: () => this.#storage,
      readBase: (object, first_s, end_s, out) => this.#scaled?.readBase(object, first_s, end_s, out),
      readCoarse: (tier, object, first_s, end_s, out) => this.#scaled?.readCoarse(tier, object, first_s, end_s, out),
    }
  }

  ready({ header, slabs, objects }: FromArchiveThread & { readonly type: 'ready' }): void {
    if (this.#reader === undefined) this.#reader = new ArchiveReader(this.#directory, header, slabs)
    else this.#reader.attach(header, slabs)
    this.#scaled = scaledReader(this.#reader, this.#step_s)
    const stored = this.#reader.objects()
    this.#objects.reset(stored, objects)
    this.#hwm_s = this.#scaled.hwm_s()
    this.#observer?.know(stored.map(({ id, kind, name, backend }) => ({ objectId: id, kind, name, backend })))
    this.#observer?.know(objects)
    // Until HAProxy answers: what was there when it answered last.
    this.#observer?.list(stored.flatMap(({ id, died_s }) => (died_s === undefined ? [id] : [])))
  }

  slab({ index, buffer }: FromArchiveThread & { readonly type: 'slab' }): void {
    this.#reader?.addSlab(index, buffer)
  }

  placed({ added, removed, forgotten }: FromArchiveThread & { readonly type: 'objects' }): void {
    // First, as an object may be there again under its old name and another number.
    this.#objects.forget(forgotten)
    this.#observer?.forget(forgotten)
    this.#objects.add(added)
    this.#observer?.know(added)
    this.#objects.remove(removed)
  }

  ticked({ hwm_s, losses, storage }: TickState): void {
    if (hwm_s < this.#hwm_s || losses !== this.#losses) this.history.forget()
    this.#hwm_s = hwm_s
    this.#losses = losses
    this.#storage = storage
    const damage = damageText(this.#reader?.takeDamage() ?? [])
    if (damage !== undefined) this.#log.warn(DAMAGED, { detail: damage })
  }

  async close(): Promise<void> {
    await this.#reader?.close()
  }
}
