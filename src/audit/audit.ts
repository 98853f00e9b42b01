import { join } from 'node:path'
import { AuditLog } from '../../storage/audit/audit-log.ts'
import { SEARCH_BEGUN } from '../../storage/audit/search.ts'
import type { KnownChain } from '../../storage/audit/segments.ts'
import type { ConfigStore } from '../../storage/config/config-store.ts'
import type { WentLive } from '../context/applying.ts'
import type { AuditEntry, AuditFilter, AuditReader } from '../context/audit.ts'
import type { Endpoint } from '../api/endpoint.ts'
import { OwedEntries } from './owed-entries.ts'
import { auditEntry, type Entry, nameOf, takenBackEntry } from './entry.ts'
import type { Clock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import { clientIp } from '../base/ip-network.ts'
import type { Events } from '../events/events.ts'
import type { AuditedRequest, AuditOutcome, AuditTrail } from '../http/audited.ts'
import { noRoom } from '../http/refusal.ts'
import type { Log } from '../base/log.ts'
import { Refusals, type Repeated } from './refusals.ts'
import type { ComputePool } from '../threads/worker-pool.ts'

/**
 * Key under which the configuration store records the extent of the log, so that the log cannot lose an end unnoticed.
 */
const HEAD_KEY = 'audit head'
/** Key for callers that are unknown: a failed login has no user. */
const LOGINS = ''
const DAY_MS = 86_400_000
/** Delay after which counted refusals become an entry. */
const TELL_AFTER_MS = 60_000

export interface AuditParts {
  readonly stateFolder: string
  readonly store: Pick<ConfigStore, 'getMeta' | 'putMeta'>
  readonly compute: ComputePool
  readonly events: Pick<Events, 'publish' | 'stored'>
  readonly clock: Clock
  /** Minimum age of entries that are dropped, unless the disk is full. */
  readonly days: number
  readonly log: Log
}

/** The recorded extent of the log, with its time in use. */
interface Noted extends KnownChain {
  /** Absent in records of earlier versions. */
  readonly used_ms?: number
}

export const auditFolder = (stateFolder: string): string => join(stateFolder, 'audit')

/** Returns the extent of the audit log that the configuration store last recorded. */
export function knownHead(store: Pick<ConfigStore, 'getMeta'>): Noted | undefined {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by Audit only
  return store.getMeta(HEAD_KEY) as Noted | undefined
}

/**
 * A refusal that always has an entry of its own: its caller knows the password of the account, and others must not be
 * able to hide that. The lock of second factors bounds the number of such refusals.
 */
const WRONG_FACTOR = 'TWO_FACTOR_INVALID'

/** Records who did what, from where, and with which outcome. */
export class Audit implements AuditTrail, AuditReader {
  readonly #parts: AuditParts
  readonly #folder: string
  readonly #log: AuditLog
  /** Writes entries about deeds that are already done. */
  readonly #done: OwedEntries
  #noting: Promise<void> | undefined
  /** Number of the oldest stored entry. */
  #first: number
  readonly #refusals: Refusals<Entry>
  /** The time in use before this start, and when this start was. */
  readonly #before: { readonly used_ms: number; readonly monotonic_ms: number }
  #telling: NodeJS.Timeout | undefined

  constructor(parts: AuditParts) {
    this.#parts = parts
    this.#folder = auditFolder(parts.stateFolder)
    const known = knownHead(parts.store)
    this.#first = known?.first ?? 1
    this.#before = { used_ms: known?.used_ms ?? 0, monotonic_ms: parts.clock.monotonic_ms() }
    this.#log = new AuditLog(this.#folder, {
      known,
      onHead: () => this.#noteSoon(),
      beforeDrop: (first, newest, isYoung) => this.#drop(first, newest, isYoung),
      used_ms: () => this.#used_ms,
      keep_ms: parts.days * DAY_MS,
    })
    this.#done = new OwedEntries(this.#log, parts.log)
    this.#refusals = new Refusals(parts.clock)
    const { problem: reason } = this.#log
    if (reason === undefined) return
    parts.log.error('the audit log was tampered with', { reason })
    parts.events.publish('node', { state: 'audit log tampered with', reason })
  }

  assertRoom({ method }: Endpoint): void {
    const full = this.#log.hasRoom(method === 'DELETE') ? undefined : 'the disk is full'
    const reason = full ?? this.#done.reason
    if (reason !== undefined) throw new ApiError('INTERNAL', noRoom(reason))
  }

  assertShare(request: AuditedRequest): void {
    const wait_s = this.#log.wait_s(nameOf(request))
    if (wait_s === 0) return
    const message = `The audit log is nearly full of your requests, and it keeps ${this.#parts.days} days: it accepts more of yours in ${wait_s} seconds`
    throw new ApiError('TOO_MANY_AT_ONCE', message, { headers: { 'Retry-After': String(wait_s) } })
  }

  async record(request: AuditedRequest, outcome: AuditOutcome): Promise<boolean> {
    const { endpoint, actor, address } = request
    const isLogin = endpoint.access === 'public'
    const caller = isLogin ? LOGINS : actor.userId
    const entry = auditEntry(request, outcome, new Date(this.#parts.clock.now_ms()).toISOString())
    const isRefused = (outcome.status ?? 0) >= 400
    if (isRefused && outcome.code !== WRONG_FACTOR && !this.#refusals.isOwnEntry(caller, entry)) {
      this.#telling ??= setTimeout(() => void this.#tellRepeated(), TELL_AFTER_MS).unref()
      return false
    }
    // An entry about revealing a secret cannot be covered by another one.
    const isCovered = outcome.status === undefined && !endpoint.reveals
    const covers_s = isCovered ? this.#refusals.beginning_s(caller) : 0
    if (covers_s === undefined) return false
    if (isRefused && isLogin) this.#parts.events.publish('login', { state: 'refused', email: nameOf(request), address })
    const own = covers_s === 0 ? entry : { ...entry, coversSeconds: covers_s }
    const repeated = this.#refusals.take(caller).map(entryOf)
    // A deed that is about to begin needs its entry on the disk first.
    const isBegun = outcome.status === undefined
    const written = isBegun
      ? [this.#done.append(repeated), this.#log.append(own)]
      : [this.#done.append([...repeated, own])]
    // So that the events of a deed are also on the disk when its caller is answered.
    await Promise.all([...written, this.#parts.events.stored()])
    return true
  }

  /** Records that the daemon took an unconfirmed apply back. This is already done, so a full disk cannot refuse it. */
  recordTakenBack(live: WentLive): Promise<void> {
    return this.#done.append([takenBackEntry(live, new Date(this.#parts.clock.now_ms()).toISOString())])
  }

  /** Turns counted refusals into entries. */
  async #tellRepeated(): Promise<void> {
    clearTimeout(this.#telling)
    this.#telling = undefined
    await this.#done.append(this.#refusals.take().map(entryOf))
  }

  get #used_ms(): number {
    return this.#before.used_ms + this.#parts.clock.monotonic_ms() - this.#before.monotonic_ms
  }

  /** Searches file by file, so that other searches get their turn in between. */
  async search(filter: AuditFilter): Promise<readonly AuditEntry[]> {
    const { limit, before, from, to, text, ...wanted } = filter
    const equal = { ...wanted, address: wanted.address && clientIp(wanted.address) }
    const given = Object.entries(equal).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const query = { before, from, to, text, equal: Object.fromEntries(given) }
    const found: AuditEntry[] = []
    for (let searched = SEARCH_BEGUN; searched.below !== undefined; found.push(...searched.found)) {
      const more = { ...query, limit: limit - found.length }
      const input = { folder: this.#folder, query: more, searched: { ...searched, found: [] } }
      searched = await this.#parts.compute.run('searchAudit', input)
    }
    return found
  }

  async close(): Promise<void> {
    await this.#tellRepeated()
    await this.#done.close()
    await this.#log.close()
    await this.#noting
  }

  /** Records that old entries will be missing, before they are dropped. */
  async #drop(first: number, newest: string, isYoung: boolean): Promise<void> {
    this.#first = first
    if (isYoung) {
      const reason = `entries up to ${newest} are removed for newer ones`
      this.#parts.log.warn('the audit log is full', { reason })
      this.#parts.events.publish('node', { state: 'audit log full', reason })
    }
    await this.#parts.store.putMeta(HEAD_KEY, { ...this.#log.head, first, used_ms: this.#used_ms })
  }

  #noteSoon(): void {
    this.#noting ??= this.#note()
  }

  /**
   * Records the extent after the line is on the disk, without delaying anybody; after a crash in between, the record is
   * slightly outdated.
   */
  async #note(): Promise<void> {
    try {
      for (let noted = 0; noted < this.#log.head.seq;) {
        const { head } = this.#log
        await this.#parts.store.putMeta(HEAD_KEY, { ...head, first: this.#first, used_ms: this.#used_ms })
        noted = head.seq
      }
    } catch (error) {
      this.#parts.log.warn('the end of the audit log could not be recorded', { reason: String(error) })
    } finally {
      this.#noting = undefined
    }
  }
}

/**
 * Returns one entry for many refusals, without the body of the last one, which says nothing about the others and may be
 * long.
 */
function entryOf({ last, ...counted }: Repeated<Entry>): Entry {
  const { body: _, ...entry } = last
  return { ...entry, ...counted }
}
