import { isDeepStrictEqual } from 'node:util'
import { amended, type Patch } from './amendment.ts'
import type { RowWrite } from './checked-table.ts'
import type { Change, ConfigWriter, Origin, PromoteOptions, RecordKey, RevisionHeader, Write } from './config-store.ts'
import { encode, recorded, renumbered } from './keys.ts'
import { changesNothing, type Mirror, type OverlayEntry } from './mirror.ts'
import type { ConfigTables } from './tables.ts'

/**
 * Writes the tables first and then the mirror that everybody reads. Whoever calls has the store alone until the promise
 * resolves: what is decided by the mirror would otherwise be decided by what is no longer true when it is written.
 */
export class MirroredWriter implements ConfigWriter {
  readonly #tables: ConfigTables
  readonly #mirror: Mirror
  readonly #newId: () => string
  readonly #frozen = new Map<string, Change>()
  #sequence: number
  #revision: number

  constructor(tables: ConfigTables, mirror: Mirror, newId: () => string) {
    this.#tables = tables
    this.#mirror = mirror
    this.#newId = newId
    this.#sequence = Number(tables.meta.get('sequence') ?? 0)
    this.#revision = Number(tables.meta.get('revision') ?? 0)
  }

  get revision(): number {
    return this.#revision
  }

  get frozen(): ReadonlyMap<string, Change> {
    return this.#frozen
  }

  async stage(writes: readonly Write[], origin: Origin): Promise<void> {
    const entries: { readonly key: RecordKey; readonly entry: OverlayEntry | undefined }[] = []
    let sequence = this.#sequence
    for (const { value, ...key } of writes) {
      const running = this.#mirror.running.get(key.section, key.scope, key.key)
      sequence += 1
      const known = this.#mirror.overlayEntry(key)?.changeId
      // A record that is being made running will differ from what runs now: what is staged over it is a change.
      const isFrozen = known !== undefined && this.#frozen.has(known)
      const isUnchanged = !isFrozen && isDeepStrictEqual(running?.value, value)
      const changeId = known ?? this.#newId()
      const stored = value === undefined ? undefined : { value, revision: sequence }
      entries.push({
        key,
        entry: isUnchanged ? undefined : { ...key, ...origin, changeId, stored, revision: sequence },
      })
    }
    // Who takes something away may be making room.
    const keepsReserve = writes.some(({ value }) => value !== undefined)
    const rows = entries.map(({ key, entry }) => this.#overlayRow(key, entry))
    await this.#tables.commit([...rows, this.#tables.meta.put('sequence', sequence)], { keepsReserve })
    this.#sequence = sequence
    for (const { key, entry } of entries) this.#mirror.setOverlay(key, entry)
  }

  async discard(changeIds: readonly string[]): Promise<void> {
    const ids = new Set(changeIds)
    const gone = this.#mirror.changes().filter((change) => ids.has(change.id))
    if (gone.length === 0) return
    await this.#tables.commit(gone.map((change) => this.#overlayRow(change, undefined)))
    for (const change of gone) this.#mirror.setOverlay(change, undefined)
  }

  async freeze(select: (change: Change) => boolean): Promise<readonly Change[]> {
    const frozen = this.#mirror.changes().filter(select)
    for (const change of frozen) this.#frozen.set(change.id, change)
    return frozen
  }

  async thaw(): Promise<void> {
    this.#frozen.clear()
    const idle = this.#mirror.changes().filter(changesNothing)
    await this.discard(idle.map((change) => change.id))
  }

  async promote(changed: readonly Change[], header: RevisionHeader, options: PromoteOptions = {}): Promise<void> {
    const { unconfirmed, keepsJournal = false, pendingFollows } = options
    const { meta, revisions } = this.#tables
    let sequence = this.#sequence
    const frozen = renumbered(changed, () => (sequence += 1))
    const overlay =
      pendingFollows === undefined
        ? this.#mirror.afterPromotion(frozen, options.again ?? [], () => (sequence += 1))
        : frozen.map((change) => [change, this.#followed(change, pendingFollows)] as const)
    // The journal has seen to the room for this.
    const keepsReserve = meta.get('journal') === undefined
    const rows = [
      ...frozen.map((change) => this.#runningRow(change)),
      ...overlay.map(([key, entry]) => this.#overlayRow(key, entry)),
      ...revisions.put({ ...header, changes: recorded(frozen) }),
      meta.put('revision', header.revision),
      unconfirmed === undefined ? meta.remove('unconfirmed') : meta.put('unconfirmed', unconfirmed),
      meta.put('sequence', sequence),
      ...(keepsJournal ? [] : [meta.remove('journal')]),
    ]
    await this.#tables.commit(rows, { keepsReserve })
    this.#frozen.clear()
    this.#sequence = sequence
    this.#revision = header.revision
    for (const change of frozen) this.#mirror.setRunning(change, change.after)
    for (const [key, entry] of overlay) this.#mirror.setOverlay(key, entry)
  }

  async amend(key: RecordKey, patch: Patch): Promise<void> {
    if (this.#frozen.size > 0) throw new Error('nothing can be amended while an apply is under way')
    const sequence = this.#sequence + 1
    const { running, overlay } = amended(this.#mirror, key, patch, sequence)
    const rows = [this.#runningRow({ ...key, after: running }), this.#overlayRow(key, overlay)]
    await this.#tables.commit([...rows, this.#tables.meta.put('sequence', sequence)])
    this.#sequence = sequence
    this.#mirror.setRunning(key, running)
    this.#mirror.setOverlay(key, overlay)
  }

  #followed(change: Change, patch: Patch): OverlayEntry | undefined {
    return amended(this.#mirror, change, patch, change.after?.revision ?? change.revision).overlay
  }

  #runningRow(change: RecordKey & Pick<Change, 'after'>): RowWrite {
    const { running } = this.#tables
    const key = encode(change)
    return change.after === undefined ? running.remove(key) : running.put(key, change.after)
  }

  #overlayRow(key: RecordKey, entry: OverlayEntry | undefined): RowWrite {
    const { candidate } = this.#tables
    if (entry === undefined) return candidate.remove(encode(key))
    const { stored, revision, changeId, actor, endpoint, at } = entry
    const value = stored === undefined ? {} : { value: stored.value }
    return candidate.put(encode(key), { revision, changeId, actor, endpoint, at, ...value })
  }
}
