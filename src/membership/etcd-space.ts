import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { EtcdClient } from '../etcd/client.ts'
import { EtcdError } from '../etcd/errors.ts'
import type { MemberStatus } from '../etcd/maintenance.ts'

export interface EtcdSpaceParts {
  readonly etcd: Pick<EtcdClient, 'compact' | 'maintenance'>
  /** Client URLs of the members, this node's last. */
  readonly urls: () => readonly string[]
  readonly clock: Pick<Clock, 'monotonic_ms'>
  readonly log: Log
}

const EVERY_MS = 60_000
const EVERY_MS_WHILE_FULL = 5_000
const REWRITE_BYTES_MIN = 64 * 2 ** 20

/**
 * The database file of etcd never shrinks on its own, and at its limit all writes are refused until room is made. The
 * node whose member leads maintains all members, so that they are not away at the same time.
 */
export class EtcdSpace {
  readonly #parts: EtcdSpaceParts
  #last_ms = -EVERY_MS

  constructor(parts: EtcdSpaceParts) {
    this.#parts = parts
  }

  /** `own`: status of the member beside this node. Rejects with `EtcdError`. */
  async look(own: MemberStatus): Promise<void> {
    if (own.leader !== own.memberId || !this.#isTime(own)) return
    if (isFull(own)) return await this.#makeRoom(own)
    await this.#rewrite(isDue)
  }

  /** For a member that nodes cannot query: the leading member drops old revisions, and clears alarms. */
  async lookAlone(own: MemberStatus): Promise<void> {
    if (this.#isTime(own)) await this.#rewrite((status) => isDue(status) || isFull(own))
  }

  #isTime(own: MemberStatus): boolean {
    const now_ms = this.#parts.clock.monotonic_ms()
    if (now_ms - this.#last_ms < (isFull(own) ? EVERY_MS_WHILE_FULL : EVERY_MS)) return false
    this.#last_ms = now_ms
    return true
  }

  /**
   * Compacts and rewrites the databases. Compacted space is free in the file, but counts as used until the file is
   * rewritten.
   */
  async #makeRoom({ revision }: MemberStatus): Promise<void> {
    const { etcd, log } = this.#parts
    log.warn('etcd has no space left; old revisions are dropped, and its databases are defragmented')
    await etcd.compact(revision, { isPhysical: true }).catch((error: unknown) => {
      if (!(error instanceof EtcdError && error.kind === 'compacted')) throw error
    })
    await this.#rewrite(() => true)
    for (const alarm of await etcd.maintenance.alarms())
      if (alarm.kind === 'NOSPACE') await etcd.maintenance.disarm(alarm)
  }

  /** Rewrites the databases one after the other; that of a member that does not answer is rewritten later. */
  async #rewrite(isWanted: (status: MemberStatus) => boolean): Promise<void> {
    const { etcd, urls, log } = this.#parts
    for (const at of urls()) {
      try {
        const before = await etcd.maintenance.status({ at })
        if (!isWanted(before)) continue
        await etcd.maintenance.defragment({ at })
        const { dbSize: left } = await etcd.maintenance.status({ at })
        log.info('the database of an etcd member was defragmented', { at, bytesBefore: before.dbSize, bytes: left })
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error
        log.warn('the database of an etcd member could not be defragmented', { at, why: error.message })
      }
    }
  }
}

const isFull = ({ errors }: MemberStatus): boolean => errors.some((error) => error.includes('NOSPACE'))

const isDue = ({ dbSize, dbSizeInUse }: MemberStatus): boolean => dbSize > REWRITE_BYTES_MIN && dbSizeInUse < dbSize / 2
