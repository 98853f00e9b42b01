import { join } from 'node:path'
import { AuditLog } from '../storage/audit/audit-log.ts'
import type { KnownChain } from '../storage/audit/segments.ts'
import type { ConfigStore } from '../storage/config/config-store.ts'
import type { AuditEntry, AuditFilter, AuditReader } from './api/lifecycle.ts'
import { auditedBody } from './audited-body.ts'
import type { Clock } from './clock.ts'
import { shownChange } from './config/shown-change.ts'
import type { Events } from './events.ts'
import type { AuditedRequest, AuditOutcome, AuditTrail } from './http/audited.ts'
import type { Log } from './log.ts'
import type { RecordChange } from './model/sections.ts'
import type { ComputePool } from './worker-pool.ts'

/** Where the configuration store keeps from where to where the chain was: the log cannot quietly lose an end. */
const HEAD_KEY = 'audit head'
const CHANGES_MAX = 100
const CHANGE_LENGTH_MAX = 16 * 1024
const TEXT_MAX = 320
/** Failed logins need no account: more than this are counted, so that nobody pushes older entries out of the log with them. */
const LOGINS_AT_ONCE = 30
const LOGIN_EVERY_MS = 5_000

export interface AuditParts {
  readonly stateFolder: string
  readonly store: Pick<ConfigStore, 'getMeta' | 'putMeta'>
  readonly compute: ComputePool
  readonly events: Pick<Events, 'publish'>
  readonly clock: Clock
  readonly log: Log
}

export const auditFolder = (stateFolder: string): string => join(stateFolder, 'audit')

/** How far the audit log was when the configuration store took note of it. */
export function knownHead(store: Pick<ConfigStore, 'getMeta'>): KnownChain | undefined {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by Audit only
  return store.getMeta(HEAD_KEY) as KnownChain | undefined
}

/** Who did what, from where, and what came of it. */
export class Audit implements AuditTrail, AuditReader {
  readonly #parts: AuditParts
  readonly #folder: string
  readonly #log: AuditLog
  #noting: Promise<void> | undefined
  /** Number of the oldest entry that is kept. */
  #first: number
  #unrecorded = 0
  #loginsLeft = LOGINS_AT_ONCE
  #refilled_ms: number

  constructor(parts: AuditParts) {
    this.#parts = parts
    this.#folder = auditFolder(parts.stateFolder)
    const known = knownHead(parts.store)
    this.#first = known?.first ?? 1
    const beforeDrop = (first: number) => this.#drop(first)
    this.#log = new AuditLog(this.#folder, { known, onHead: () => this.#noteSoon(), beforeDrop })
    this.#refilled_ms = parts.clock.monotonic_ms()
    const { problem: reason } = this.#log
    if (reason === undefined) return
    parts.log.error('the audit log was tampered with', { reason })
    parts.events.publish('node', { state: 'audit log tampered with', reason })
  }

  async record(request: AuditedRequest, outcome: AuditOutcome): Promise<void> {
    const { endpoint, actor, address, requestId, method, path, query, body } = request
    const isLogin = endpoint.name === 'auth.login'
    if (isLogin && outcome.status !== 200 && !this.#mayRecordLogin()) return
    const by = isLogin ? emailIn(body) : actor.email
    if (isLogin && outcome.status !== 200) this.#parts.events.publish('login', { state: 'refused', email: by, address })
    await this.#log.append({
      at: new Date(this.#parts.clock.now_ms()).toISOString(),
      requestId,
      by,
      address,
      endpoint: endpoint.name,
      method,
      path: path.slice(0, TEXT_MAX),
      ...(query === '' ? {} : { query: query.slice(0, TEXT_MAX) }),
      outcome: outcome.status === undefined ? 'begun' : outcome.status < 400 ? 'done' : 'refused',
      ...(outcome.status === undefined ? {} : { status: outcome.status }),
      ...(outcome.code === undefined ? {} : { code: outcome.code }),
      ...this.#detail(request),
      ...(isLogin && this.#unrecorded > 0 ? { unrecorded: this.#takeUnrecorded() } : {}),
    })
  }

  search(filter: AuditFilter): Promise<readonly AuditEntry[]> {
    const { limit, before, from, to, text, ...equal } = filter
    const given = Object.entries(equal).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const query = { limit, before, from, to, text, equal: Object.fromEntries(given) }
    return this.#parts.compute.run('searchAudit', { folder: this.#folder, query })
  }

  async close(): Promise<void> {
    await this.#log.close()
    await this.#noting
  }

  #detail({ endpoint, body, changes = [] }: AuditedRequest): object {
    if (endpoint.effect === 'act' || endpoint.effect === 'apply') {
      const audited = auditedBody(body)
      return audited === undefined ? {} : { body: audited }
    }
    if (changes.length === 0) return {}
    const more = changes.length - CHANGES_MAX
    return { changes: changes.slice(0, CHANGES_MAX).map(bounded), ...(more > 0 ? { moreChanges: more } : {}) }
  }

  /** Old entries go only after it was noted that they are not missed. */
  async #drop(first: number): Promise<void> {
    this.#first = first
    await this.#parts.store.putMeta(HEAD_KEY, { ...this.#log.head, first })
  }

  #noteSoon(): void {
    this.#noting ??= this.#note()
  }

  /** After the line is on the disk, and without keeping anybody waiting; a crash in between leaves a note that is a little old. */
  async #note(): Promise<void> {
    try {
      for (let noted = 0; noted < this.#log.head.seq;) {
        const { head } = this.#log
        await this.#parts.store.putMeta(HEAD_KEY, { ...head, first: this.#first })
        noted = head.seq
      }
    } catch (error) {
      this.#parts.log.warn('the end of the audit log was not noted', { reason: String(error) })
    } finally {
      this.#noting = undefined
    }
  }

  #mayRecordLogin(): boolean {
    const now_ms = this.#parts.clock.monotonic_ms()
    const refill = Math.floor((now_ms - this.#refilled_ms) / LOGIN_EVERY_MS)
    this.#refilled_ms += refill * LOGIN_EVERY_MS
    this.#loginsLeft = Math.min(LOGINS_AT_ONCE, this.#loginsLeft + refill)
    if (this.#loginsLeft > 0) {
      this.#loginsLeft--
      return true
    }
    this.#unrecorded++
    return false
  }

  #takeUnrecorded(): number {
    const count = this.#unrecorded
    this.#unrecorded = 0
    return count
  }
}

function bounded(change: RecordChange): object {
  const { before, after, ...what } = shownChange(change)
  const length = JSON.stringify([before, after]).length
  return length > CHANGE_LENGTH_MAX
    ? { ...what, leftOut: `${length} characters of before and after` }
    : { ...what, before, after }
}

function emailIn(body: unknown): string {
  const email: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'email') : undefined
  return typeof email === 'string' ? email.slice(0, TEXT_MAX) : ''
}
