import { isDeepStrictEqual } from 'node:util'
import type { ConfigStore } from '../../storage/config/config-store.ts'
import { ApiError } from '../base/errors.ts'
import type { MachineClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { defer } from '../base/deferred.ts'
import { Repeated } from '../base/repeated.ts'
import type { ApplyEngine } from '../config/apply.ts'
import { patchOf } from '../config/views.ts'
import type { Events } from '../events/events.ts'
import type {
  AcmeAccount,
  AcmeAnswer,
  AcmeFailed,
  AcmeOrder,
  AcmeProgress,
  AcmeStep,
  AcmeStepped,
} from '../model/acme.ts'
import type { Certificate, CertificateRead } from '../model/certificates.ts'
import type { ConfigView } from '../model/sections.ts'
import { DnsAnswers, type DnsAnswersParts } from './dns-answers.ts'
import type { DnsRecords } from './dns-records.ts'
import { LeftRecords } from './left-records.ts'
import { nextTry_ms, progressOf, waitAfter_s } from '../rules/acme.ts'

const LOOK_EVERY_MS = 2_000
/** The cluster gives a node more time than this. */
const AT_WORK_MS_MAX = 120_000
/** Each of the other nodes looks once in this time. */
const OTHERS_FIRST_MS = 3 * LOOK_EVERY_MS
const WAIT_MS_MAX = 30_000
/**
 * Pause after a defect, on a full disk or without a majority: requests to the CA are in vain if their results cannot be
 * stored.
 */
const REST_MS = 60_000
const REASON_LENGTH_MAX = 2_000
const APPLY_TRIES_MAX = 30
const APPLY_AGAIN_MS = 1_000
const LEFTOVERS_MAX = 1_000
/**
 * Half a day: then another order replaces one about which the CA does not decide, or which it has lost without saying
 * so.
 */
const TRIES_OF_AN_ORDER = 8

export interface AcmeOrdersParts extends DnsAnswersParts {
  readonly store: Pick<ConfigStore, 'agreed'>
  /** The configuration that all nodes run: an order that only one node runs is not worked on. */
  readonly agreed: ConfigView
  /** Changes the progress of an order, durably; what `change` throws is the refusal. */
  readonly amend: (id: string, change: (now: AcmeOrder | undefined) => Pick<AcmeOrder, 'progress'>) => Promise<void>
  readonly engine: Pick<ApplyEngine, 'applyUnstaged'>
  readonly step: (step: AcmeStep) => Promise<AcmeStepped>
  readonly read: (pem: string) => Promise<CertificateRead>
  readonly whyUnanswered: (view: ConfigView, account: AcmeAccount, order: AcmeOrder) => string | undefined
  readonly records: Pick<DnsRecords, 'present' | 'remove'>
  /** Runs the work if no other node is working; resolves with whether it was this node's turn. */
  readonly inTurn: (work: () => Promise<void>) => Promise<boolean>
  /** Whether there are other nodes, which may reach what this one does not. */
  readonly hasOthers: () => boolean
  readonly allowsLoopback: boolean
  readonly events: Pick<Events, 'publish'>
  readonly clock: MachineClock
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly wait: (ms: number, signal: AbortSignal) => Promise<unknown>
}

interface Found {
  readonly order: AcmeOrder
  readonly account: AcmeAccount
  readonly certificate: Certificate
  readonly progress: AcmeProgress
}

/** Thrown if the order was changed meanwhile, so that the result is void. */
class Superseded extends Error {}

/**
 * Obtains and renews certificates. The progress of an order is on the disk of every node before the next step, so after
 * a crash, or on another node, work continues from there.
 */
export class AcmeOrders {
  readonly #parts: AcmeOrdersParts
  readonly #looks: Repeated
  readonly #end = new AbortController()
  readonly #closed = defer()
  #looking: Promise<void> | undefined
  #restsUntil_ms = Number.NEGATIVE_INFINITY
  /** When this node last failed, by order. */
  readonly #failedAt_ms = new Map<string, number>()
  readonly #leftRecords: LeftRecords
  readonly #dnsAnswers: DnsAnswers

  constructor(parts: AcmeOrdersParts) {
    this.#parts = parts
    this.#leftRecords = new LeftRecords(parts)
    this.#dnsAnswers = new DnsAnswers(parts, this.#leftRecords)
    this.#looks = new Repeated('certificate orders', () => this.look(), LOOK_EVERY_MS, parts.log)
  }

  start(): void {
    // This node must remove the records it created before a crash, in case the order is deleted.
    for (const order of this.#parts.agreed.list('acmeOrders'))
      this.#leftRecords.note(order, leftoversOf(order, order.progress ?? { of: '' }).leftovers ?? [])
    this.#looks.start()
  }

  async close(): Promise<void> {
    this.#looks.stop()
    this.#end.abort()
    this.#closed.resolve()
    await this.#looking
  }

  /** Works on the orders that are due, one after the other. */
  look(): Promise<void> {
    this.#looking ??= this.#workAll().finally(() => (this.#looking = undefined))
    return this.#looking
  }

  async renew(id: string): Promise<void> {
    // A step of the order may be stored at the same moment: then the request is repeated with the progress after it.
    while (!(await this.#ask(this.#require(id))));
    void this.#looks.now()
  }

  /** Stores the request; resolves with whether that succeeded. */
  async #ask({ order, progress }: Found): Promise<boolean> {
    try {
      await this.#keep(order, askedFor(progress))
      return true
    } catch (error) {
      if (error instanceof Superseded) return false
      throw error
    }
  }

  #require(id: string): Found {
    const found = this.#find(id)
    if (found === undefined) throw new ApiError('NOT_FOUND', `There is no applied ACME order with id ${id}`)
    return found
  }

  #find(id: string): Found | undefined {
    const { agreed } = this.#parts
    const order = agreed.get('acmeOrders', id)
    const account = order && agreed.get('acmeAccounts', order.accountId)
    const certificate = order && agreed.get('certificates', order.certificateId)
    if (order === undefined || account === undefined || certificate === undefined) return undefined
    return { order, account, certificate, progress: progressOf(order, account) }
  }

  #due(id: string): Found | undefined {
    const found = this.#find(id)
    return found !== undefined && this.#isDue(found) ? found : undefined
  }

  #isDue({ order, progress, certificate }: Found): boolean {
    const { clock, hasOthers } = this.#parts
    if (this.#dnsAnswers.isWaiting(order.id)) return false
    const now_ms = clock.now_ms()
    const hadLastTry = this.#failedAt_ms.get(order.id) === (progress.failedAt_ms ?? null)
    const yields_ms = hadLastTry && hasOthers() ? OTHERS_FIRST_MS : 0
    return nextTry_ms(progress, certificate, now_ms) + yields_ms <= now_ms
  }

  async #workAll(): Promise<void> {
    const { agreed, clock, inTurn, log } = this.#parts
    for (const { id, name } of agreed.list('acmeOrders')) {
      if (this.#end.signal.aborted || clock.monotonic_ms() < this.#restsUntil_ms) return
      const found = this.#find(id)
      if (found === undefined || (!this.#isDue(found) && !this.#isTidyDue(found))) continue
      try {
        const isOurs = await inTurn(async () => {
          await this.#worked(id)
          await this.#tidy(id)
        })
        // All orders share one turn.
        if (!isOurs) break
      } catch (error) {
        if (error instanceof Superseded || this.#end.signal.aborted) continue
        this.#restsUntil_ms = clock.monotonic_ms() + REST_MS
        log.warn('an order could not be processed; this is retried', { name, reason: String(error) })
      }
    }
    await this.#tidyDeleted()
  }

  /** Works on one order. An error is a failure of that order only: others have their turn, and the CA its pause. */
  async #worked(id: string): Promise<void> {
    try {
      await this.#work(id)
    } catch (error) {
      const found = this.#due(id)
      if (error instanceof Superseded || this.#end.signal.aborted || found === undefined) throw error
      await this.#fail(found, { reason: String(error), isOver: false })
    }
  }

  async #work(id: string): Promise<void> {
    const { clock, whyUnanswered, agreed, step, allowsLoopback } = this.#parts
    const until_ms = clock.monotonic_ms() + AT_WORK_MS_MAX
    // Stored first, so that nothing is requested whose result could not be stored. This also makes a node catch up with
    // what another one did.
    const begun = this.#due(id)
    if (begun !== undefined) await this.#keep(begun.order, begun.progress)
    for (;;) {
      const found = this.#due(id)
      if (found === undefined || this.#end.signal.aborted) return
      const { order, account, progress } = found
      const { names, challenge, keyType } = order
      const unanswered = whyUnanswered(agreed, account, order)
      if (unanswered !== undefined) return this.#fail(found, { reason: `${challenge} ${unanswered}`, isOver: false })
      if (challenge === 'dns-01' && progress.answers !== undefined && progress.isVisible !== true) {
        if (await this.#madeVisible(found, progress.answers)) continue
        return
      }
      const stepped = await this.#unlessClosed(step({ account, names, challenge, keyType, progress, allowsLoopback }))
      if (stepped === undefined || (await this.#took(found, stepped))) return
      if (clock.monotonic_ms() > until_ms)
        return this.#fail(found, { reason: 'The CA did not decide within two minutes', isOver: false })
    }
  }

  /** A CA that does not answer must not delay the end: the next start resumes the order. */
  #unlessClosed<T>(stepped: Promise<T>): Promise<T | undefined> {
    return Promise.race([stepped, this.#closed.promise.then(() => undefined)])
  }

  /** Stores the result of a step; resolves with whether the work on the order ends for now. */
  async #took(found: Found, stepped: AcmeStepped): Promise<boolean> {
    if (stepped.is === 'ordered') {
      const { orderUrl, accountUrl } = stepped
      await this.#advance(found, { orderUrl, accountUrl })
    } else if (stepped.is === 'promised') {
      await this.#advance(found, { answers: [...stepped.answers] })
    } else if (stepped.is === 'keyed') {
      await this.#advance(found, { privateKey: stepped.privateKey })
    } else if (stepped.is === 'waiting') {
      await this.#parts.wait(Math.min(stepped.after_s * 1_000, WAIT_MS_MAX), this.#end.signal)
    } else if (stepped.is === 'issued') {
      await this.#install(found, stepped.chain)
    } else {
      await this.#fail(found, stepped)
    }
    return stepped.is === 'issued' || stepped.is === 'failed'
  }

  /** Stores the progress, unless the order was changed meanwhile. */
  #keep(order: AcmeOrder, progress: AcmeProgress): Promise<void> {
    return this.#parts.amend(order.id, (now) => {
      if (now === undefined || !isDeepStrictEqual(now.progress, order.progress)) throw new Superseded()
      return { progress }
    })
  }

  /** Stores the result of a step. A renewal that is requested meanwhile does not undo the step. */
  #advance({ order, progress }: Found, came: Partial<AcmeProgress>): Promise<void> {
    return this.#parts.amend(order.id, (now) => {
      const asked = askedFor(progress)
      const isAsked = isDeepStrictEqual(now?.progress, asked)
      if (now === undefined || !(isAsked || isDeepStrictEqual(now.progress, order.progress))) throw new Superseded()
      return { progress: { ...(isAsked ? asked : progress), ...came } }
    })
  }

  /**
   * Resolves with whether the order continues now: the records were created, are visible, or need not be waited for any
   * longer.
   */
  async #madeVisible(found: Found, answers: readonly AcmeAnswer[]): Promise<boolean> {
    const { order, progress } = found
    const answered = await this.#unlessClosed(this.#dnsAnswers.look(order, progress, answers))
    if (answered === undefined || answered === 'later') return false
    const hasFailed = 'reason' in answered
    if (hasFailed) await this.#fail(found, { reason: answered.reason, isOver: true })
    else await this.#advance(found, answered)
    return !hasFailed
  }

  #isTidyDue({ order, progress: { leftovers = [] } }: Found): boolean {
    return leftovers.length > 0 && this.#leftRecords.isDue(order.id)
  }

  /** Removes the records of orders that have ended, whatever their outcome. */
  async #tidy(id: string): Promise<void> {
    const found = this.#find(id)
    if (found === undefined || !this.#isTidyDue(found)) return
    const { order, progress } = found
    const { leftovers = [], ...rest } = progress
    const removed = await this.#unlessClosed(this.#leftRecords.removed(order, leftovers))
    if (removed === undefined) return
    await this.#keep(order, removed.length === 0 ? rest : { ...rest, leftovers: [...removed] })
  }

  async #tidyDeleted(): Promise<void> {
    await this.#unlessClosed(this.#leftRecords.removeOfDeleted(this.#end.signal))
    const isGone = (id: string) => this.#parts.agreed.get('acmeOrders', id) === undefined
    this.#dnsAnswers.forget(isGone)
    for (const id of this.#failedAt_ms.keys()) if (isGone(id)) this.#failedAt_ms.delete(id)
  }

  async #install(found: Found, chain: string): Promise<void> {
    const { clock, events, log } = this.#parts
    const { order, progress, certificate: old } = found
    const read = await this.#parts.read(`${chain.trimEnd()}\n${progress.privateKey ?? ''}`)
    const why = whyUnusable(read, order)
    if ('problems' in read || why !== undefined) return this.#fail(found, { reason: why ?? '', isOver: true })
    const { certificate } = read
    const { fingerprint, validTo } = certificate.facts
    if (fingerprint !== old.facts.fingerprint) {
      const refused = await this.#applied(order, certificate)
      if (refused !== undefined) return this.#fail(found, { reason: refused, isOver: false })
    }
    const left = leftoversOf(order, progress)
    this.#leftRecords.hurry(order.id)
    await this.#keep(order, { of: progress.of, issued: fingerprint, issuedAt_ms: clock.now_ms(), ...left })
    const { name } = order
    events.publish('certificate', { state: 'renewed', name: old.name, order: name, notAfter: validTo, fingerprint })
    log.info('a certificate was renewed', { order: name, notAfter: validTo })
  }

  /** Replaces only the certificate: staged changes of users stay pending. Resolves with the reason if that failed. */
  async #applied(order: AcmeOrder, certificate: Pick<Certificate, 'chain' | 'privateKey' | 'facts'>) {
    const { engine, store, wait } = this.#parts
    const options = { force: undefined, comment: `certificate of the order ${order.name}` }
    const changes = () => patchOf(store.agreed, 'certificates', order.certificateId, certificate)
    for (let tries = 1; ; tries += 1) {
      try {
        await engine.applyUnstaged(changes, options, { by: 'fulcrum', address: undefined })
        return undefined
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        if (error.code !== 'APPLY_IN_PROGRESS' || tries >= APPLY_TRIES_MAX)
          return `It was issued, but: ${error.message}`
        await wait(APPLY_AGAIN_MS, this.#end.signal)
      }
    }
  }

  async #fail(
    { order, progress, certificate }: Found,
    { reason: why, retryAfter_s, ...asked }: Pick<AcmeFailed, 'reason' | 'isOver'> & Partial<AcmeFailed>,
  ): Promise<void> {
    const { clock, events, log } = this.#parts
    const reason = why.slice(0, REASON_LENGTH_MAX)
    const failures = (progress.failures ?? 0) + 1
    const failedAt_ms = clock.now_ms()
    const fromEnd_s = (Date.parse(certificate.facts.validTo) - failedAt_ms) / 1_000
    const wait_s = waitAfter_s(failures, retryAfter_s, fromEnd_s)
    const isOver = asked.isOver || failures % TRIES_OF_AN_ORDER === 0
    if (isOver) this.#leftRecords.hurry(order.id)
    const kept = isOver ? { ...withoutTry(progress), ...leftoversOf(order, progress) } : progress
    await this.#keep(order, { ...kept, failures, failedAt_ms, wait_s, lastError: reason })
    this.#failedAt_ms.set(order.id, failedAt_ms)
    const nextTry = new Date(failedAt_ms + wait_s * 1_000).toISOString()
    const { name } = order
    events.publish('certificate', {
      state: 'renewal failed',
      name: certificate.name,
      order: name,
      reason,
      failures,
      nextTry,
    })
    log.warn('a certificate could not be renewed', { order: name, reason, failures, nextTry })
  }
}

/** Returns the progress with a requested renewal and without earlier failures. */
function askedFor(progress: AcmeProgress): AcmeProgress {
  const { failures: _, failedAt_ms: __, wait_s: ___, lastError: ____, ...kept } = progress
  return { ...kept, asked: true }
}

/** Returns the progress without the attempt. */
function withoutTry({ of, issued, issuedAt_ms, asked }: AcmeProgress): AcmeProgress {
  return {
    of,
    ...(issued === undefined ? {} : { issued }),
    ...(issuedAt_ms === undefined ? {} : { issuedAt_ms }),
    ...(asked === undefined ? {} : { asked }),
  }
}

/** Returns the DNS records that are no longer needed once the order has ended. */
function leftoversOf({ challenge }: AcmeOrder, { answers = [], leftovers = [] }: AcmeProgress) {
  const left = [...leftovers, ...(challenge === 'dns-01' ? answers : [])].slice(-LEFTOVERS_MAX)
  return left.length === 0 ? {} : { leftovers: left }
}

/** Checks it like an uploaded certificate, and whether it has all ordered names. */
function whyUnusable(read: CertificateRead, { names }: AcmeOrder): string | undefined {
  if ('problems' in read)
    return `The issued certificate cannot be used: ${read.problems.map(({ message }) => message).join('; ')}`
  const missing = names.filter((name) => !read.certificate.facts.subjectAlt.includes(name))
  return missing.length === 0 ? undefined : `The issued certificate is not for ${missing.join(', ')}`
}
