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
/** A turn of the cluster is longer. */
const AT_WORK_MS_MAX = 120_000
/** Each of the other nodes looks once in that time. */
const OTHERS_FIRST_MS = 3 * LOOK_EVERY_MS
const WAIT_MS_MAX = 30_000
/** After a defect, a full disk, a cluster without a majority: whatever could not be kept was asked for in vain. */
const REST_MS = 60_000
const REASON_LENGTH_MAX = 2_000
const APPLY_TRIES_MAX = 30
const APPLY_AGAIN_MS = 1_000
const LEFTOVERS_MAX = 1_000
/** Half a day: a CA that does not say that it has lost an order, or decides nothing, is asked for another one. */
const TRIES_OF_AN_ORDER = 8

export interface AcmeOrdersParts extends DnsAnswersParts {
  readonly store: Pick<ConfigStore, 'agreed'>
  /** What all nodes run: an order that one runs alone is not worked on. */
  readonly agreed: ConfigView
  /** Changes how far an order is, durably; what `change` throws is the refusal. */
  readonly amend: (id: string, change: (now: AcmeOrder | undefined) => Pick<AcmeOrder, 'progress'>) => Promise<void>
  readonly engine: Pick<ApplyEngine, 'applyUnstaged'>
  readonly step: (step: AcmeStep) => Promise<AcmeStepped>
  readonly read: (pem: string) => Promise<CertificateRead>
  readonly whyUnanswered: (view: ConfigView, account: AcmeAccount, order: AcmeOrder) => string | undefined
  readonly records: Pick<DnsRecords, 'present' | 'remove'>
  /** Runs the work where no other node does its; answers whether it was this node's turn. */
  readonly inTurn: (work: () => Promise<void>) => Promise<boolean>
  /** Whether there is a node that may reach what this one does not. */
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

/** Somebody else has changed the order meanwhile: what was found counts no more. */
class Superseded extends Error {}

/**
 * Gets certificates and renews them. The progress of an order is on the disk of every node before the next step, so
 * after a crash, or on another node, work continues from there.
 */
export class AcmeOrders {
  readonly #parts: AcmeOrdersParts
  readonly #looks: Repeated
  readonly #end = new AbortController()
  readonly #closed = defer()
  #looking: Promise<void> | undefined
  #restsUntil_ms = Number.NEGATIVE_INFINITY
  /** When this node itself has failed. */
  readonly #failedAt_ms = new Map<string, number>()
  readonly #leftRecords: LeftRecords
  readonly #dnsAnswers: DnsAnswers

  constructor(parts: AcmeOrdersParts) {
    this.#parts = parts
    this.#leftRecords = new LeftRecords(parts)
    this.#dnsAnswers = new DnsAnswers(parts, this.#leftRecords)
    this.#looks = new Repeated('orders of certificates', () => this.look(), LOOK_EVERY_MS, parts.log)
  }

  start(): void {
    // What was made before a crash is this node's to remove, should the order be deleted.
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

  /** Works on what is due, one order after the other. */
  look(): Promise<void> {
    this.#looking ??= this.#workAll().finally(() => (this.#looking = undefined))
    return this.#looking
  }

  async renew(id: string): Promise<void> {
    // A step of the order may be kept in the same moment: what is asked for is asked of what there is behind it.
    while (!(await this.#ask(this.#require(id))));
    void this.#looks.now()
  }

  /** Answers whether it is kept. */
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
    if (found === undefined) throw new ApiError('NOT_FOUND', `There is no ACME order with id ${id} that was applied`)
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
        // There is one turn for all orders.
        if (!isOurs) break
      } catch (error) {
        if (error instanceof Superseded || this.#end.signal.aborted) continue
        this.#restsUntil_ms = clock.monotonic_ms() + REST_MS
        log.warn('an order could not be worked on; it is tried again', { name, reason: String(error) })
      }
    }
    await this.#tidyDeleted()
  }

  /** What goes wrong with one order is a failure of that one: others have their turn, and the CA its rest. */
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
    // What cannot be kept is not asked for. And a node that has yet to read what another one did learns of it by this.
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
        return this.#fail(found, { reason: 'The CA has not decided in two minutes', isOver: false })
    }
  }

  /** A CA that does not answer holds up no end: the next start takes the order up. */
  #unlessClosed<T>(stepped: Promise<T>): Promise<T | undefined> {
    return Promise.race([stepped, this.#closed.promise.then(() => undefined)])
  }

  /** Answers whether nothing follows now. */
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

  /** Keeps how far it is, unless somebody else was faster. */
  #keep(order: AcmeOrder, progress: AcmeProgress): Promise<void> {
    return this.#parts.amend(order.id, (now) => {
      if (now === undefined || !isDeepStrictEqual(now.progress, order.progress)) throw new Superseded()
      return { progress }
    })
  }

  /** The same with the result of a step. A renewal that is requested meanwhile does not undo the step. */
  #advance({ order, progress }: Found, came: Partial<AcmeProgress>): Promise<void> {
    return this.#parts.amend(order.id, (now) => {
      const asked = askedFor(progress)
      const isAsked = isDeepStrictEqual(now?.progress, asked)
      if (now === undefined || !(isAsked || isDeepStrictEqual(now.progress, order.progress))) throw new Superseded()
      return { progress: { ...(isAsked ? asked : progress), ...came } }
    })
  }

  /** Answers whether the order goes on now: the records are made, are seen, or neither is waited for any more. */
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

  /** Removes the records of orders that are over, whatever became of them. */
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

  /** Replaces the certificate and nothing else: what people have staged stays pending. Answers why it could not. */
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
        if (error.code !== 'APPLY_IN_PROGRESS' || tries >= APPLY_TRIES_MAX) return `It came, but: ${error.message}`
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
    const wait_s = waitAfter_s(failures, retryAfter_s)
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

/** Where somebody wants it now, whatever failed before. */
function askedFor(progress: AcmeProgress): AcmeProgress {
  const { failures: _, failedAt_ms: __, wait_s: ___, lastError: ____, ...kept } = progress
  return { ...kept, asked: true }
}

/** What is known of an order whatever became of the try. */
function withoutTry({ of, issued, issuedAt_ms, asked }: AcmeProgress): AcmeProgress {
  return {
    of,
    ...(issued === undefined ? {} : { issued }),
    ...(issuedAt_ms === undefined ? {} : { issuedAt_ms }),
    ...(asked === undefined ? {} : { asked }),
  }
}

/** What the records of DNS are that nobody needs when the order is over. */
function leftoversOf({ challenge }: AcmeOrder, { answers = [], leftovers = [] }: AcmeProgress) {
  const left = [...leftovers, ...(challenge === 'dns-01' ? answers : [])].slice(-LEFTOVERS_MAX)
  return left.length === 0 ? {} : { leftovers: left }
}

/** The same that is asked of one that people hand in, and that it is for the names that were ordered. */
function whyUnusable(read: CertificateRead, { names }: AcmeOrder): string | undefined {
  if ('problems' in read) return `What came cannot be used: ${read.problems.map(({ message }) => message).join('; ')}`
  const missing = names.filter((name) => !read.certificate.facts.subjectAlt.includes(name))
  return missing.length === 0 ? undefined : `What came is not for ${missing.join(', ')}`
}
