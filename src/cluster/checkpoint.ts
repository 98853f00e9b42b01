import { createHash } from 'node:crypto'
import type { StoreRecords, StoreState } from '../../storage/config/store-state.ts'
import type { Folding } from '../../storage/config/fold.ts'
import { canonical } from '../base/canonical.ts'
import { newId } from '../base/ids.ts'
import { inTurns } from '../base/turns.ts'
import type { EtcdClient } from '../etcd/client.ts'
import type { CallOptions } from '../etcd/gateways.ts'
import { RecordsDigest } from './digest.ts'
import type { LargeValues } from './large-values.ts'
import { keyIdOf } from './sealing.ts'
import { BASE, baseName, GUARD, logUpTo, markedIn, NUMBER_DIGITS, padded, partsUpTo } from './places.ts'
import { HoleError } from './refusals.ts'

/** Number of entries between two checkpoints. */
export const CHECKPOINT_EVERY = 1_000

/** The result of all entries up to a position: the start for a node when the log does not reach back far enough. */
export interface Checkpoint {
  readonly position: number
  /** Digest of the state: nodes at the same position compare it with theirs. */
  readonly digest: string
  readonly state: StoreState
}

const encoded = (checkpoint: Checkpoint): Buffer => Buffer.from(JSON.stringify(checkpoint))

/**
 * Returns a digest that is equal for stores with the same content, in any order. Of the revisions only the number
 * counts: the oldest kept one depends on each node's history. Takes turns, because a state may have a hundred thousand
 * records.
 */
export async function digestOf(state: StoreRecords): Promise<string> {
  const digest = RecordsDigest.empty()
  const { sequence, revision, running, candidate, frozen, shared, unconfirmed = null } = state
  await inTurns(running, ({ section, scope, key, stored }) =>
    digest.add({ section: `running ${section}`, scope, key, value: stored }),
  )
  await inTurns(candidate, ({ section, scope, key, ...change }) =>
    digest.add({ section: `candidate ${section}`, scope, key, value: change }),
  )
  await inTurns(shared, ({ table, key, value }) => digest.add({ section: table, scope: '', key, value }))
  for (const { applyId, ...value } of frozen) digest.add({ section: 'frozen', scope: '', key: applyId, value })
  return createHash('sha256')
    .update(canonical([sequence, revision, unconfirmed, digest.toString()]))
    .digest('hex')
}

type Etcd = Pick<EtcdClient, 'range' | 'transact' | 'delete'>

/**
 * The checkpoint in etcd. There is only one; the log reaches back to the one before it, so that a node that is a little
 * behind reads entries instead of the whole state.
 */
export class Checkpoints {
  readonly #etcd: Etcd
  readonly #values: LargeValues
  readonly #kept: number

  /** `kept`: number of entries that are kept before a checkpoint. */
  constructor(etcd: Etcd, values: LargeValues, kept: number) {
    this.#etcd = etcd
    this.#values = values
    this.#kept = kept
  }

  /**
   * Replaces the checkpoint, and deletes the entries that are no longer needed. A node that was stopped in the middle
   * of it may be late: if there is a newer checkpoint by then, that one stays, as the log begins behind it.
   */
  async write(checkpoint: Checkpoint): Promise<void> {
    const { position } = checkpoint
    const [before] = (await this.#etcd.range({ key: BASE })).kvs
    if (before !== undefined && baseOf(before.value).position >= position) return
    const id = newId()
    const sealed = await this.#values.sealed(baseName(position), encoded(checkpoint), position, id)
    const value = Buffer.concat([Buffer.from(padded(position)), sealed])
    const { succeeded } = await this.#etcd.transact({
      compare: [{ key: BASE, of: 'modRevision', is: '=', than: before?.modRevision ?? 0 }],
      success: [{ put: BASE, value }],
    })
    if (!succeeded) return await this.#values.forget(position, id)
    const old = position - this.#kept
    if (old <= 0) return
    await this.#etcd.delete(logUpTo(old))
    // The new checkpoint's parts are named by its position, those of the one before by an older one.
    await this.#etcd.delete(partsUpTo(old))
  }

  /**
   * Stores the current state, unless the stored checkpoint is sealed with this key already.
   *
   * @param inTurn runs work between two entries.
   */
  async seal(
    folding: Pick<Folding, 'position' | 'snapshot'>,
    keyId: string,
    inTurn: (work: () => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const [found] = (await this.#etcd.range({ key: BASE })).kvs
    if (found !== undefined && keyIdOf(baseOf(found.value).sealed) === keyId) return
    let taken: Omit<Checkpoint, 'digest'> | undefined
    await inTurn(async () => void (taken = { position: folding.position, state: folding.snapshot() }))
    if (taken !== undefined) await this.write({ ...taken, digest: await digestOf(taken.state) })
  }

  /** Reads the checkpoint; undefined before the first. */
  async read(): Promise<Checkpoint | undefined> {
    const { kvs } = await this.#etcd.range({ key: BASE })
    const [found] = kvs
    if (found === undefined) return undefined
    const { position, sealed } = baseOf(found.value)
    // Sound: only nodes can seal, and all nodes of this version write the same form.
    return JSON.parse((await this.#values.opened(baseName(position), sealed, position)).toString()) as Checkpoint
  }
}

/** Splits a stored checkpoint into its position, which it is sealed for, and the sealed value. */
const baseOf = (value: Uint8Array) => ({
  position: Number(Buffer.from(value.subarray(0, NUMBER_DIGITS)).toString()),
  sealed: value.subarray(NUMBER_DIGITS),
})

/** Reads the guard: history and number of the last entry. */
export async function endOfLog(etcd: Pick<EtcdClient, 'range'>, options: CallOptions = {}) {
  const { kvs, revision } = await etcd.range({ key: GUARD }, options)
  const marked = markedIn(kvs[0]?.value)
  if (marked === undefined) throw new HoleError('there is no cluster in this etcd')
  return { ...marked, revision }
}
