import type { IncomingMessage } from 'node:http'
import { type Clock, systemClock } from '../base/clock.ts'
import { combined, EtcdError, isForAnother } from './errors.ts'
import type { Fields } from './fields.ts'
import { asEtcdError, type Call, type Credentials, Gateway, type Patience } from './gateway.ts'

export interface CallOptions {
  /** The limit for all tries together, in milliseconds. */
  readonly timeout_ms?: number
  /**
   * Uses only this gateway, by its URL, even if it is not one of the client's; when absent, the client's in their
   * order.
   */
  readonly at?: string
}

export interface GatewaysParts {
  /** URLs of the members' client ports, the own member first. */
  readonly gateways: readonly string[]
  readonly credentials: Credentials
  readonly timeout_ms?: number
  readonly clock?: Clock
}

/** etcd itself gives up after 7 s. */
const TIMEOUT_MS = 5_000
/** The time for which a member that failed is tried last. */
export const REMEMBERED_MS = 5_000

/** The members of a cluster in the order in which they are tried. */
export class Gateways {
  #credentials: Credentials
  #gateways: ReadonlyMap<string, Gateway>
  /** Members that are used only by their URL. */
  readonly #aside = new Map<string, Gateway>()
  readonly #clock: Clock
  readonly #timeout_ms: number
  readonly #failedUntil_ms = new Map<Gateway, number>()
  #isClosed = false

  constructor({ gateways, credentials, timeout_ms = TIMEOUT_MS, clock = systemClock }: GatewaysParts) {
    this.#credentials = credentials
    this.#gateways = new Map(gateways.map((url) => [url, new Gateway(url, credentials)]))
    this.#clock = clock
    this.#timeout_ms = timeout_ms
  }

  /** Uses these members from now on, in this order. Pending calls to others are ended. */
  use(urls: readonly string[]): void {
    const before = this.#gateways
    this.#gateways = new Map(urls.map((url) => [url, before.get(url) ?? new Gateway(url, this.#credentials)]))
    for (const [url, gateway] of before) if (!urls.includes(url)) gateway.close()
  }

  /** Presents another certificate from the next connection on. */
  present(credentials: Credentials): void {
    this.#credentials = credentials
    for (const gateway of this.#all()) gateway.present(credentials)
  }

  /**
   * Returns what `read` gets from the answer of the first member that takes the call. A write is not repeated if it may
   * have been executed.
   */
  async ask<T>(call: Call, read: (fields: Fields) => T, options: CallOptions = {}): Promise<T> {
    return await this.#inTurn(options, async (gateway, patience) => {
      const fields = await gateway.ask(call, patience)
      try {
        return read(fields)
      } catch (error) {
        throw asEtcdError(error, call.isWrite)
      }
    })
  }

  /** Opens a continuing answer, from the first member for which `begin` does not reject. */
  async open<T>(
    call: Call,
    begin: (response: IncomingMessage, address: string) => Promise<T>,
    options: CallOptions = {},
  ): Promise<T> {
    return await this.#inTurn(options, async (gateway, patience) => {
      const response = await gateway.open(call, patience)
      const late = setTimeout(
        () => response.destroy(new EtcdError('timeout', 'it started but made no progress')),
        patience.left_ms,
      )
      try {
        return await begin(response, gateway.address)
      } catch (error) {
        response.destroy()
        throw asEtcdError(error)
      } finally {
        clearTimeout(late)
      }
    })
  }

  /** Rejects pending and later calls. */
  close(): void {
    this.#isClosed = true
    for (const gateway of this.#all()) gateway.close()
  }

  async #inTurn<T>(options: CallOptions, work: (gateway: Gateway, patience: Patience) => Promise<T>): Promise<T> {
    const { timeout_ms = this.#timeout_ms, at } = options
    const turns = at === undefined ? this.#order() : [this.#named(at)]
    const until_ms = performance.now() + timeout_ms
    const failures: [address: string, error: EtcdError][] = []
    for (const [place, gateway] of turns.entries()) {
      if (this.#isClosed) break
      const left_ms = Math.max(1, until_ms - performance.now())
      try {
        // The last member gets its share of the time, however slow the ones before it are.
        const answer = await work(gateway, { share_ms: left_ms / (turns.length - place), left_ms })
        this.#failedUntil_ms.delete(gateway)
        return answer
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error
        this.#note(gateway, error)
        if (!isForAnother(error)) throw error
        failures.push([gateway.address, error])
      }
    }
    throw this.#isClosed ? new EtcdError('closed', 'it is no longer asked: the client was closed') : combined(failures)
  }

  #named(url: string): Gateway {
    const known = this.#gateways.get(url) ?? this.#aside.get(url)
    if (known !== undefined) return known
    const gateway = new Gateway(url, this.#credentials)
    this.#aside.set(url, gateway)
    return gateway
  }

  #all(): readonly Gateway[] {
    return [...this.#gateways.values(), ...this.#aside.values()]
  }

  /** Returns the gateways, with those that failed recently last. */
  #order(): readonly Gateway[] {
    const now_ms = this.#clock.monotonic_ms()
    const hasFailed = (gateway: Gateway) => (this.#failedUntil_ms.get(gateway) ?? -Infinity) > now_ms
    const all = [...this.#gateways.values()]
    return [...all.filter((one) => !hasFailed(one)), ...all.filter(hasFailed)]
  }

  #note(gateway: Gateway, error: EtcdError): void {
    const isAnswer = !isForAnother(error) && error.kind !== 'unknown-outcome'
    if (isAnswer || error.kind === 'refused') this.#failedUntil_ms.delete(gateway)
    else this.#failedUntil_ms.set(gateway, this.#clock.monotonic_ms() + REMEMBERED_MS)
  }
}
