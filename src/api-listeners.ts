import { get } from 'node:https'
import type { OwnPart } from './config/enactor.ts'
import { type Handler, type Listener, listen, type ListenOptions, type Tls } from './http/server.ts'
import type { Log } from './log.ts'
import type { ConfigView } from './model/sections.ts'
import type { Address, Settings } from './settings.ts'

const ANSWER_TIMEOUT_MS = 5_000
const ANY = new Set(['0.0.0.0', '::'])

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
  #api: Listener | undefined
  #plain: Listener | undefined
  readonly #draining: Listener[] = []

  constructor(parts: ApiListenerParts) {
    this.#parts = parts
  }

  /** Of the API now; 0 before it listens. */
  get port(): number {
    return this.#api?.port ?? 0
  }

  get all(): readonly Listener[] {
    return [this.#api, this.#plain].filter((listener) => listener !== undefined)
  }

  /** A stored place that cannot be had must not lock everybody out: then it is the one of the command line. */
  async open(): Promise<void> {
    const { settings, running, handle, nextId, log } = this.#parts
    const wanted = this.#wanted(running)
    try {
      this.#api = await this.#listen(wanted)
    } catch (error) {
      if (same(wanted, settings.listen)) throw error
      log.error('the stored place of the API cannot be had; it is reached where the command line says', {
        reason: String(error),
      })
      this.#api = await this.#listen(settings.listen)
    }
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

  async enact(running: ConfigView, desired: ConfigView): ReturnType<OwnPart['enact']> {
    if (this.#api === undefined || same(this.#wanted(running), this.#wanted(desired))) return undefined
    return this.#move(this.#wanted(desired))
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
    const stored = view.get('userInterfaces', nodeId)
    if (stored === undefined) return settings.listen
    // In trial static IPs are only recorded, so nobody can listen on one.
    const ip = settings.profile === 'trial' ? undefined : view.get('staticIps', stored.ipId)?.ip
    return { host: ip ?? settings.listen.host, port: stored.apiPort }
  }
}

const same = (a: Address, b: Address) => a.host === b.host && a.port === b.port

const overlap = (a: Address, b: Address) =>
  a.port === b.port && (a.host === b.host || ANY.has(a.host) || ANY.has(b.host))

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
