import { hostname } from 'node:os'
import { type Clock, systemClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { RadiusConfig } from '../model/sign-in.ts'
import { credentialProblem } from './credentials.ts'
import { askServer, type Ending, type Silence } from './exchange.ts'
import type { Attribute } from './packet.ts'
import { type Resolve, Servers } from './servers.ts'

/** A server that was asked, or could not be. */
export interface Attempt {
  readonly host: string
  readonly port: number
  /** Empty for a name that could not be resolved. */
  readonly address: string
  readonly outcome: 'unresolved' | Silence | 'accepted' | 'refused'
}

export type Result = { readonly attempts: readonly Attempt[] } & (
  | { readonly outcome: 'accepted'; readonly attributes: readonly Attribute[] }
  | { readonly outcome: 'refused'; readonly why: string }
  | { readonly outcome: 'unreachable' }
)

export interface ClientParts {
  readonly clock?: Clock
  readonly log: Log
  readonly resolve?: Resolve
  /** Limit for all servers together, whatever their number and retries. */
  readonly deadline_ms?: number
}

const DEADLINE_MS = 45_000

const isSilence = (outcome: Ending['outcome']): outcome is Silence => outcome !== 'accepted' && outcome !== 'refused'

/** Asks the servers of a configuration, one after the other, until one answers. */
export class RadiusClient {
  readonly #servers: Servers
  readonly #log: Log
  readonly #deadline_ms: number

  constructor({ clock = systemClock, log, resolve, deadline_ms = DEADLINE_MS }: ClientParts) {
    this.#servers = new Servers(clock, resolve)
    this.#log = log
    this.#deadline_ms = deadline_ms
  }

  /** Asks the servers; never throws for a server's behaviour. */
  async ask(config: RadiusConfig, name: string, password: string): Promise<Result> {
    const why = credentialProblem(name, password, config.authProtocol)
    if (why !== undefined) return { outcome: 'refused', why, attempts: [] }
    const question = {
      name,
      password,
      protocol: config.authProtocol,
      nasIdentifier: config.nasIdentifier || hostname(),
    }
    const until_ms = performance.now() + this.#deadline_ms
    const attempts: Attempt[] = []
    for await (const { host, port, target, left } of this.#servers.inTurn(config)) {
      const left_ms = until_ms - performance.now()
      if (left_ms <= 0) break
      if (target === undefined) {
        attempts.push({ host, port, address: '', outcome: 'unresolved' })
        continue
      }
      // The last server gets its share of the time, however slow the ones before it are.
      const ending = await askServer(question, target, {
        attempt_ms: config.timeout * 1000,
        attempts: config.retries + 1,
        budget_ms: left_ms / left,
        requireMessageAuthenticator: config.requireMessageAuthenticator,
      })
      attempts.push({ host, port, address: target.address, outcome: ending.outcome })
      const isNews = this.#servers.note(target, !isSilence(ending.outcome))
      if (isNews) this.#tell(host, port, ending.outcome)
      if (ending.outcome === 'accepted' || ending.outcome === 'refused') return { ...ending, attempts }
    }
    return { outcome: 'unreachable', attempts }
  }

  #tell(host: string, port: number, outcome: Ending['outcome']): void {
    const fields = { host, port, outcome }
    if (isSilence(outcome)) this.#log.warn('a RADIUS server does not answer', fields)
    else this.#log.info('a RADIUS server answers again', fields)
  }
}
