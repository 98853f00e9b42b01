import { get } from 'node:https'
import type { OwnPart } from './config/enactor.ts'
import type { Problem } from './drivers/driver.ts'
import { nodeIn } from './drivers/this-node.ts'
import { freePlace } from './http/listening.ts'
import { type Handler, type Listener, listen, type ListenOptions, type Tls } from './http/server.ts'
import type { Log } from './log.ts'
import type { ConfigView } from './model/sections.ts'
import { ANY, overlap, portProblems } from './own-ports.ts'
import type { Address, Settings } from './settings.ts'

const ANSWER_TIMEOUT_MS = 5_000

export interface ApiListenerParts {
  readonly settings: Pick<Settings, 'profile' | 'listen' | 'http'>
  readonly nodeId: string
  readonly running: ConfigView
  readonly handle: Handler
  readonly nextId: () => string
  readonly tls: () => Promise<Tls>
  readonly log: Log
}

/**
 * Where the API is reached. A new place is opened and answers before the old one closes; requests in flight are answered
 * where they came in.
 */
export class ApiListeners implements OwnPart {
  readonly #parts: ApiListenerParts
  /** Where the command line has it. */
  #given: Address
  #api: Listener | undefined
  #plain: Listener | undefined
  readonly #draining: Listener[] = []

  constructor(parts: ApiListenerParts) {
    this.#parts = parts
    this.#given = parts.settings.listen
  }

  /** Of the API now; 0 before it listens. */
  get port(): number {
    return this.#api?.port ?? 0
  }

  get all(): readonly Listener[] {
    return [this.#api, this.#plain].filter((listener) => listener !== undefined)
  }

  /**
   * A stored place that cannot be had must not lock everybody out, nor end the daemon: its address may only come when the
   * machine is made as configured.
   */
  async open(): Promise<void> {
    const { settings, running, handle, nextId, log } = this.#parts
    const stored = running.get('userInterfaces', nodeIn(running, this.#parts.nodeId)) !== undefined
    const loopback = { host: settings.listen.host.includes(':') ? '::1' : '127.0.0.1', port: settings.listen.port }
    const places = stored
      ? [this.#wanted(running), settings.listen, loopback, { ...loopback, port: 0 }]
      : [settings.listen]
    for (const [index, place] of places.entries()) {
      try {
        this.#api = await this.#listen(place)
        break
      } catch (error) {
        if (index === places.length - 1) throw error
        log.error('the API cannot be reached where it should', { place: textOf(place), reason: String(error) })
      }
    }
    // A port that the system chose stays.
    if (!stored && this.#api !== undefined) this.#given = { host: settings.listen.host, port: this.#api.port }
    if (settings.http !== undefined) this.#plain = await listen(settings.http, undefined, handle, nextId)
  }

  /** After the machine was made what running says: an address that was not there yet may be now. */
  async settle(): Promise<void> {
    const { running, log } = this.#parts
    const wanted = this.#wanted(running)
    if (this.#api === undefined || same(this.#api, wanted)) return
    try {
      const change = await this.#move(wanted)
      change.keep()
    } catch (error) {
      log.error('the API does not listen where it should', { reason: String(error) })
    }
  }

  /** Before anything changes: the place must be free, and nobody else may be configured to take it. */
  async verify(running: ConfigView, desired: ConfigView): Promise<readonly Problem[]> {
    const { nodeId, settings } = this.#parts
    const [before, wanted] = [this.#wanted(running), this.#wanted(desired)]
    const plain = settings.http === undefined ? [] : [{ owner: 'the API', place: settings.http }]
    const problems = [...portProblems(desired, nodeId, [{ owner: 'the API', place: wanted }, ...plain])]
    const isAdded = ![...running.list('staticIps')].some(({ ip }) => ip === wanted.host)
    const isUntried = same(before, wanted) || (this.#api !== undefined && overlap(this.#api, wanted))
    if (isUntried || (wanted.host !== this.#given.host && isAdded)) return problems
    try {
      await freePlace(wanted)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      problems.push({ section: 'userInterfaces', id: nodeIn(desired, nodeId), field: 'apiPort', message })
    }
    return problems
  }

  /** Whether a client that is connected to this address would find nobody there any more. */
  leaves(running: ConfigView, desired: ConfigView, local: string): boolean {
    const [before, wanted] = [this.#wanted(running), this.#wanted(desired)]
    return before.host !== wanted.host && !ANY.has(wanted.host) && wanted.host !== local
  }

  async enact(running: ConfigView, desired: ConfigView): ReturnType<OwnPart['enact']> {
    const wanted = this.#wanted(desired)
    if (this.#api === undefined || same(this.#wanted(running), wanted) || same(this.#api, wanted)) return undefined
    return this.#move(wanted)
  }

  close(): void {
    for (const listener of [...this.all, ...this.#draining]) listener.close()
  }

  async #move(wanted: Address): Promise<{ keep(): void; takeBack(): void }> {
    const old = this.#api
    const fresh = await this.#listen(wanted, { isHandover: old !== undefined && overlap(old, wanted) })
    try {
      await answers(fresh)
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

  async #listen(address: Address, options?: ListenOptions): Promise<Listener> {
    const { handle, nextId, tls } = this.#parts
    return listen(address, await tls(), handle, nextId, options)
  }

  #wanted(view: ConfigView): Address {
    const { settings, nodeId } = this.#parts
    const stored = view.get('userInterfaces', nodeIn(view, nodeId))
    if (stored === undefined) return this.#given
    // In trial static IPs are only recorded, so nobody can listen on one.
    const ip = settings.profile === 'trial' ? undefined : view.get('staticIps', stored.ipId)?.ip
    return { host: ip ?? this.#given.host, port: stored.apiPort }
  }
}

const same = (a: Address, b: Address) => a.host === b.host && a.port === b.port
const textOf = ({ host, port }: Address) => `${host}:${port}`

/** Rejects unless the listener answers a request. */
function answers({ host, port }: Address): Promise<void> {
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return new Promise((resolve, reject) => {
    const request = get(
      // Its certificate may name other hosts; what counts is that it answers.
      {
        host: reached,
        port,
        path: '/api/v1/ping',
        rejectUnauthorized: false,
        agent: false,
        timeout: ANSWER_TIMEOUT_MS,
      },
      (response) => {
        response.resume()
        if (response.statusCode === 200) resolve()
        else reject(new Error(`https://${host}:${port} answers ${response.statusCode}`))
      },
    )
    request.on('timeout', () => request.destroy(new Error(`https://${host}:${port} does not answer`)))
    request.on('error', reject)
  })
}
