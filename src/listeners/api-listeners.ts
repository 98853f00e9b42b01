import { dirname, join } from 'node:path'
import { asFiles, chosenCertificate, forgetLent } from './lent-certificate.ts'
import { assertAnswers } from './answers.ts'
import type { OwnPart } from '../config/enactor.ts'
import type { Problem } from '../model/problem.ts'
import { ApiError } from '../base/errors.ts'
import { validity } from '../base/validity.ts'
import { nodeIn } from '../drivers/this-node.ts'
import { failure } from '../http/envelope.ts'
import { Fronts } from '../http/fronts.ts'
import { freePlace } from '../http/listening.ts'
import {
  type Handler,
  type Listener,
  listen,
  listenLocally,
  type LocalListener,
  type ListenOptions,
  listenToFronts,
} from '../http/server.ts'
import type { Tls } from '../http/acceptor.ts'
import type { Log } from '../base/log.ts'
import type { Certificate } from '../model/certificates.ts'
import type { ConfigView } from '../model/sections.ts'
import { ANY, overlap, type OwnPlace, portProblems } from './own-ports.ts'
import type { Address, Settings } from '../settings.ts'
import { reasonOf } from '../base/reason.ts'

export interface ApiListenerParts {
  readonly settings: Pick<Settings, 'profile' | 'listen' | 'http' | 'localSocket' | 'metrics' | 'frontThreads'>
  readonly nodeId: string
  readonly running: ConfigView
  readonly handle: Handler
  /** Handles requests for metrics without a token. */
  readonly metrics: Handler
  readonly nextId: () => string
  /** Returns the ports that the cluster takes on this node; none on a single node. */
  readonly ofCluster: () => readonly OwnPlace[]
  /** The API's own certificate, used if no other is chosen. */
  readonly tls: () => Promise<Tls>
  /** Folder of files that only root may read. */
  readonly folder: string
  readonly log: Log
}

/** Address at which the API should listen, with the certificate to present; without one, the API's own. */
interface Wanted extends Address {
  readonly certificate: Certificate | undefined
}

/** A move that can still be kept or taken back. */
interface Moved {
  keep(): void
  takeBack(): void
}

/**
 * Listeners of the API. A new address is opened and answers before the old one closes; requests in flight are answered
 * on the connection they came in on. A new certificate at the same address is presented from the next connection on.
 */
export class ApiListeners implements OwnPart {
  readonly #parts: ApiListenerParts
  /** Address from the command line. */
  #given: Address
  #api: Listener | undefined
  /** The certificate that is presented; undefined for the API's own. */
  #shown: Certificate | undefined
  #plain: Listener | undefined
  #metrics: Listener | undefined
  #local: LocalListener | undefined
  #fronts: Fronts | undefined
  /** Socket at which the front threads ask. */
  #behind: LocalListener | undefined
  readonly #draining: Listener[] = []

  constructor(parts: ApiListenerParts) {
    this.#parts = parts
    this.#given = parts.settings.listen
  }

  /** Current port of the API; 0 before it listens. */
  get port(): number {
    return this.#api?.port ?? 0
  }

  get all(): readonly Listener[] {
    return [this.#api, this.#plain].filter((listener) => listener !== undefined)
  }

  /**
   * Takes over the listeners of the resting predecessor in this process, so that no client is cut off. A change of
   * address follows in `settle`.
   */
  takeOver(before: ApiListeners): void {
    const { handle, metrics } = this.#parts
    this.#given = before.#given
    this.#api = before.#api
    this.#shown = before.#shown
    this.#plain = before.#plain
    this.#metrics = before.#metrics
    this.#local = before.#local
    this.#fronts = before.#fronts
    this.#behind = before.#behind
    for (const listener of this.#opened) listener.resume(listener === this.#metrics ? metrics : handle)
    this.#draining.push(...before.#draining)
  }

  /**
   * Opens the listeners. A stored address that cannot be opened must neither lock everybody out nor end the daemon: the
   * address may only appear when the machine is configured.
   */
  async open(): Promise<void> {
    const { settings, running, handle, nextId, folder, log } = this.#parts
    await forgetLent(folder)
    await this.#openFronts()
    const stored = running.get('userInterfaces', nodeIn(running, this.#parts.nodeId)) !== undefined
    const loopback = { host: settings.listen.host.includes(':') ? '::1' : '127.0.0.1', port: settings.listen.port }
    const wanted = this.#wanted(running)
    const own = { certificate: undefined }
    const others = [
      { ...wanted, ...own },
      { ...settings.listen, ...own },
      { ...loopback, ...own },
    ]
    const places = stored ? [wanted, ...others, { ...loopback, ...own, port: 0 }] : [{ ...settings.listen, ...own }]
    for (const [index, place] of places.entries()) {
      try {
        this.#api = await this.#listen(place)
        this.#shown = place.certificate
        break
      } catch (error) {
        if (index === places.length - 1) throw error
        log.error('the API cannot be reached at its address', { place: textOf(place), reason: String(error) })
      }
    }
    // Keeps a port that the system chose.
    if (!stored && this.#api !== undefined) this.#given = { host: settings.listen.host, port: this.#api.port }
    if (settings.http !== undefined)
      this.#plain = await listen(settings.http, undefined, handle, nextId, { fronts: this.#fronts })
    await this.#openLocal()
    await this.#openMetrics()
  }

  async #openFronts(): Promise<void> {
    const { settings, handle, nextId, log } = this.#parts
    const threads = settings.frontThreads
    if (threads === 0) return
    const path = join(dirname(settings.localSocket), 'fronts.sock')
    this.#behind = await listenToFronts(path, handle, nextId)
    this.#fronts = new Fronts(threads, path, log)
  }

  /** Without the local socket, its callers can log in instead. */
  async #openLocal(): Promise<void> {
    const { settings, handle, nextId, log } = this.#parts
    try {
      this.#local = await listenLocally(settings.localSocket, handle, nextId)
    } catch (error) {
      log.error('local root access without a login is unavailable', {
        socket: settings.localSocket,
        reason: String(error),
      })
    }
  }

  /** The address may only appear when the machine is configured; a failure locks nobody out. */
  async #openMetrics(): Promise<void> {
    const { settings, metrics, nextId, log } = this.#parts
    if (settings.metrics === undefined || this.#metrics !== undefined) return
    try {
      this.#metrics = await listen(settings.metrics, undefined, metrics, nextId)
    } catch (error) {
      log.error('metrics cannot be collected at their address', {
        place: textOf(settings.metrics),
        reason: String(error),
      })
    }
  }

  /** Called once the machine matches the running configuration: an address may exist now that did not before. */
  async settle(): Promise<void> {
    const { running, log } = this.#parts
    await this.#openMetrics()
    const wanted = this.#wanted(running)
    if (this.#isAsWanted(wanted)) return
    try {
      const change = await this.#move(wanted)
      change.keep()
    } catch (error) {
      log.error('the API does not listen at its address', { reason: String(error) })
    }
  }

  /** Called before anything changes: the address must be free, and no frontend may be configured to use it. */
  async verify(running: ConfigView, desired: ConfigView): Promise<readonly Problem[]> {
    const { nodeId, settings, ofCluster } = this.#parts
    const [before, wanted] = [this.#wanted(running), this.#wanted(desired)]
    const plain = settings.http === undefined ? [] : [{ owner: 'the API', place: settings.http }]
    const metrics = settings.metrics === undefined ? [] : [{ owner: 'the metrics', place: settings.metrics }]
    const own = [{ owner: 'the API', place: wanted }, ...plain, ...metrics, ...ofCluster()]
    const problems = [...portProblems(desired, nodeId, own)]
    const isAdded = ![...running.list('staticIps')].some(({ ip }) => ip === wanted.host)
    const isUntried = samePlace(before, wanted) || (this.#api !== undefined && overlap(this.#api, wanted))
    if (isUntried || (wanted.host !== this.#given.host && isAdded)) return problems
    try {
      await freePlace(wanted)
    } catch (error) {
      const message = reasonOf(error)
      problems.push({ section: 'userInterfaces', id: nodeIn(desired, nodeId), field: 'apiPort', message })
    }
    return problems
  }

  /** Returns whether a client connected to this address would no longer reach the API there. */
  leaves(running: ConfigView, desired: ConfigView, local: string): boolean {
    const [before, wanted] = [this.#wanted(running), this.#wanted(desired)]
    return before.host !== wanted.host && !ANY.has(wanted.host) && wanted.host !== local
  }

  async enact(running: ConfigView, desired: ConfigView): ReturnType<OwnPart['enact']> {
    const [before, wanted] = [this.#wanted(running), this.#wanted(desired)]
    const isSame = samePlace(before, wanted) && sameCertificate(before.certificate, wanted.certificate)
    return isSame || this.#isAsWanted(wanted) ? undefined : this.#move(wanted)
  }

  #isAsWanted(wanted: Wanted): boolean {
    return this.#api === undefined || (samePlace(this.#api, wanted) && sameCertificate(this.#shown, wanted.certificate))
  }

  /**
   * Accepts no more requests, and says so to every caller, until the successor takes over; resolves when all earlier
   * requests are answered.
   */
  async rest(): Promise<void> {
    const { nodeId } = this.#parts
    const why = new ApiError('NODE_UNREACHABLE', 'This node is restarting with a new identity; try again in a second', {
      data: { nodeId, mayBeDone: false },
      headers: { 'Retry-After': '1' },
    })
    const resting = this.#opened.map((listener) => listener.rest(failure(why)))
    // Front threads must not answer from their caches either: from now on, they ask here for every caller.
    validity.endRights()
    await Promise.all(resting)
  }

  /** Ends responses that are still being produced, such as streams. */
  cut(): void {
    for (const listener of this.#opened) listener.cut()
  }

  /** Accepts no more requests; resolves when all earlier requests are answered. */
  async stop(): Promise<void> {
    const stopping = this.#opened.map((listener) => listener.stop())
    validity.endRights()
    await Promise.all(stopping)
  }

  async close(): Promise<void> {
    for (const listener of this.#opened) listener.close()
    await this.#fronts?.end()
  }

  get #opened(): readonly LocalListener[] {
    const others = [this.#metrics, this.#local, this.#behind].filter((listener) => listener !== undefined)
    return [...this.all, ...others, ...this.#draining]
  }

  async #move(wanted: Wanted): Promise<Moved> {
    const old = this.#api
    const shown = this.#shown
    const moved =
      old !== undefined && samePlace(old, wanted) ? await this.#present(old, wanted) : await this.#open(wanted)
    this.#shown = wanted.certificate
    return {
      keep: () => moved.keep(),
      takeBack: () => {
        this.#shown = shown
        moved.takeBack()
      },
    }
  }

  async #open(wanted: Wanted): Promise<Moved> {
    const old = this.#api
    const fresh = await this.#listen(wanted, { isHandover: old !== undefined && overlap(old, wanted) })
    try {
      await assertAnswers(fresh, wanted.certificate)
    } catch (error) {
      fresh.close()
      throw error
    }
    this.#api = fresh
    return {
      keep: () => {
        if (old === undefined) return
        old.drain()
        this.#draining.push(old)
        this.#parts.log.info('the API listens', { host: fresh.host, port: fresh.port })
      },
      takeBack: () => {
        this.#api = old
        fresh.close()
      },
    }
  }

  async #present(listener: Listener, { certificate }: Wanted): Promise<Moved> {
    const takeBack = await this.#withTls(certificate, (tls) => listener.present(tls))
    try {
      await assertAnswers(listener, certificate)
    } catch (error) {
      takeBack()
      throw error
    }
    const { log } = this.#parts
    return {
      keep: () => log.info('the API uses another certificate', { name: certificate?.name ?? 'its own' }),
      takeBack,
    }
  }

  #listen(wanted: Wanted, options?: Pick<ListenOptions, 'isHandover'>): Promise<Listener> {
    const { handle, nextId } = this.#parts
    return this.#withTls(wanted.certificate, (tls) =>
      listen(wanted, tls, handle, nextId, { ...options, fronts: this.#fronts }),
    )
  }

  async #withTls<T>(certificate: Certificate | undefined, use: (tls: Tls) => T | Promise<T>): Promise<T> {
    const { tls, folder } = this.#parts
    return certificate === undefined ? use(await tls()) : asFiles(certificate, folder, use)
  }

  #wanted(view: ConfigView): Wanted {
    const { settings, nodeId } = this.#parts
    const stored = view.get('userInterfaces', nodeIn(view, nodeId))
    if (stored === undefined) return { ...this.#given, certificate: undefined }
    // In the trial profile static IPs are only recorded, so the API cannot listen on one.
    const ip = settings.profile === 'trial' ? undefined : view.get('staticIps', stored.ipId)?.ip
    return { host: ip ?? this.#given.host, port: stored.apiPort, certificate: chosenCertificate(view, nodeId) }
  }
}

const samePlace = (a: Address, b: Address) => a.host === b.host && a.port === b.port
const sameCertificate = (a: Certificate | undefined, b: Certificate | undefined) =>
  a?.chain === b?.chain && a?.privateKey === b?.privateKey
const textOf = ({ host, port }: Address) => `${host}:${port}`
