import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../base/clock.ts'
import type { RadiusConfig } from '../model/sign-in.ts'
import type { Target } from './exchange.ts'

/** The time for which a server that did not answer is asked last. */
export const REMEMBERED_MS = 60_000
const RESOLVED_MS = 60_000
const RESOLVE_MS = 5_000
/** The time for which a failed name resolution is not repeated, so that not every login waits for it. */
const UNRESOLVED_MS = 10_000
const ADDRESSES_MAX = 8

export type Resolve = (name: string) => Promise<readonly string[]>

/** One server with the address to ask; `target` is undefined for a name that cannot be resolved. */
export interface Turn {
  readonly host: string
  readonly port: number
  readonly target: Target | undefined
  /** Number of turns left, including this one. */
  readonly left: number
}

const systemResolve: Resolve = async (name) => (await lookup(name, { all: true })).map(({ address }) => address)

/** The order in which servers are asked, and the memory of their failures and addresses. */
export class Servers {
  readonly #clock: Clock
  readonly #resolve: Resolve
  readonly #silentUntil_ms = new Map<string, number>()
  readonly #known = new Map<string, { readonly addresses: readonly string[]; readonly until_ms: number }>()
  readonly #asking = new Map<string, Promise<readonly string[] | undefined>>()

  constructor(clock: Clock, resolve: Resolve = systemResolve) {
    this.#clock = clock
    this.#resolve = resolve
  }

  /**
   * Yields the servers, those with the lowest priority value first, equal ones in the given order; those that were
   * silent recently come last. Names are resolved when it is their turn.
   */
  async *inTurn({ hosts, port: common, sharedSecret }: RadiusConfig): AsyncGenerator<Turn, void, undefined> {
    const later: Omit<Turn, 'left'>[] = []
    const sorted = hosts.toSorted((a, b) => a.priority - b.priority)
    for (const [index, { host, port: own, sharedSecret: ownSecret }] of sorted.entries()) {
      const [port, secret] = [own ?? common, ownSecret === '' ? sharedSecret : ownSecret]
      const follow = sorted.length - index - 1
      const addresses = await this.#addressesOf(host)
      if (addresses.length === 0) yield { host, port, target: undefined, left: 1 + follow + later.length }
      for (const [place, address] of addresses.entries()) {
        const turn = { host, port, target: { address, port, secret } }
        if (this.#isSilent(turn.target)) later.push(turn)
        else yield { ...turn, left: addresses.length - place + follow + later.length }
      }
    }
    for (const [place, turn] of later.entries()) yield { ...turn, left: later.length - place }
  }

  /** Records whether a server answered. Returns whether that is news. */
  note({ address, port }: Target, hasAnswered: boolean): boolean {
    const key = keyOf(address, port)
    const wasSilent = this.#silentUntil_ms.has(key)
    if (hasAnswered) this.#silentUntil_ms.delete(key)
    else this.#silentUntil_ms.set(key, this.#clock.monotonic_ms() + REMEMBERED_MS)
    return wasSilent === hasAnswered
  }

  /** Expired entries are kept for `note`, which detects news; there are at most as many as servers were ever named. */
  #isSilent({ address, port }: Target): boolean {
    return (this.#silentUntil_ms.get(keyOf(address, port)) ?? -Infinity) > this.#clock.monotonic_ms()
  }

  async #addressesOf(host: string): Promise<readonly string[]> {
    if (isIP(host) !== 0) return [host]
    const known = this.#known.get(host)
    if (known !== undefined && known.until_ms > this.#clock.monotonic_ms()) return known.addresses
    let asking = this.#asking.get(host)
    if (asking === undefined) {
      // One query for all logins: a name server that does not answer blocks a thread for each query.
      asking = this.#ask(host).finally(() => this.#asking.delete(host))
      this.#asking.set(host, asking)
    }
    const patience = new AbortController()
    const late = sleep(RESOLVE_MS, undefined, { signal: patience.signal }).catch(() => undefined)
    const found = await Promise.race([asking, late])
    patience.abort()
    if (found !== undefined) return found
    // A name that cannot be resolved now keeps its last addresses.
    const addresses = known?.addresses ?? []
    this.#known.set(host, { addresses, until_ms: this.#clock.monotonic_ms() + UNRESOLVED_MS })
    return addresses
  }

  async #ask(host: string): Promise<readonly string[] | undefined> {
    const found = await this.#resolve(host).catch(() => undefined)
    if (found === undefined || found.length === 0) return undefined
    const addresses = [...new Set(found)].slice(0, ADDRESSES_MAX)
    this.#known.set(host, { addresses, until_ms: this.#clock.monotonic_ms() + RESOLVED_MS })
    return addresses
  }
}

const keyOf = (address: string, port: number) => `${address} ${port}`
