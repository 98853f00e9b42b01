import type { AuditLog } from '../../storage/audit/audit-log.ts'
import type { Log } from '../base/log.ts'
import { reasonOf } from '../base/reason.ts'
import { noRoomReason } from '../http/refusal.ts'
import type { Entry } from './entry.ts'

const AGAIN_MS = 1_000
/** A few megabytes, and more than can accumulate while changes are refused. */
const OWED_MAX = 10_000

/**
 * Writes entries about deeds that are already done. Entries that the disk refuses are written before any other once it
 * works.
 */
export class OwedEntries {
  readonly #audit: Pick<AuditLog, 'append'>
  readonly #log: Pick<Log, 'error' | 'info'>
  #owed: Entry[] = []
  #reason: string | undefined
  #again: NodeJS.Timeout | undefined

  constructor(audit: Pick<AuditLog, 'append'>, log: Pick<Log, 'error' | 'info'>) {
    this.#audit = audit
    this.#log = log
  }

  /** Why entries are owed; undefined if none are. */
  get reason(): string | undefined {
    return this.#reason
  }

  /** Resolves when the entries are on the disk, or owed. */
  async append(entries: readonly Entry[]): Promise<void> {
    clearTimeout(this.#again)
    const before = this.#owed
    this.#owed = []
    const all = [...before, ...entries]
    const written = await Promise.allSettled(all.map((entry) => this.#audit.append(entry)))
    const refusal = written.find((one) => one.status === 'rejected')
    const refused = all.filter((_, at) => written[at]?.status === 'rejected')
    // Entries added meanwhile are newer.
    this.#owed = [...refused, ...this.#owed]
    if (refusal === undefined) this.#paid(before.length)
    else this.#refused(noRoomReason(refusal.reason) ?? reasonOf(refusal.reason))
  }

  #paid(count: number): void {
    if (this.#owed.length > 0) return
    if (this.#reason !== undefined) this.#log.info('the waiting entries were written to the audit log', { count })
    this.#reason = undefined
  }

  #refused(reason: string): void {
    if (this.#reason === undefined) this.#log.error('audit entries are waiting for the disk', { reason })
    this.#reason = reason
    this.#giveUp(this.#owed.splice(OWED_MAX))
    this.#again = setTimeout(() => void this.append([]), AGAIN_MS).unref()
  }

  #giveUp(entries: readonly Entry[]): void {
    for (const { requestId } of entries)
      this.#log.error('an audit entry was lost', { requestId: String(requestId), reason: this.#reason })
  }

  async close(): Promise<void> {
    if (this.#owed.length > 0) await this.append([])
    clearTimeout(this.#again)
    this.#giveUp(this.#owed)
  }
}
