import type { Events } from '../events/events.ts'
import { Repeated } from '../base/repeated.ts'
import type { Log } from '../base/log.ts'
import type { L7Backend } from '../model/layer7.ts'
import { type RealServer, resolvedAt } from '../model/real-server.ts'
import type { ConfigView } from '../model/sections.ts'
import { rowKey } from '../stats/live-plan.ts'

/** The interval at which HAProxy is asked for figures. */
const LOOK_EVERY_MS = 1_000

/** Number of names checked at once: a thousand take about four milliseconds. Above that, each is checked less often. */
const LOOKED_AT_MAX = 1_000

/** A real server with a host name, in one backend. */
interface Named {
  readonly backend: L7Backend
  readonly real: RealServer
  readonly key: string
}

/** The address of a name at the last check, and the address last reported. */
interface Seen {
  readonly name: string
  readonly at: string | undefined
  readonly told: string | undefined
}

export interface NameWatchParts {
  readonly running: ConfigView
  /** Returns the running revision. */
  readonly revision: () => number
  /** Returns a column of a row in HAProxy's last answer; undefined when it is not there. */
  readonly figure: (key: string, column: string) => string | undefined
  readonly events: Pick<Events, 'publish'>
  readonly log: Log
}

/**
 * Reports when the name of a real server resolves to another address, or to none: HAProxy follows it without a reload.
 */
export class NameWatch {
  readonly #parts: NameWatchParts
  readonly #looks: Repeated
  #named: readonly Named[] = []
  #of = -1
  #next = 0
  #seen: Map<string, Seen> = new Map()

  constructor(parts: NameWatchParts) {
    this.#parts = parts
    this.#looks = new Repeated('names of real servers', () => this.look(), LOOK_EVERY_MS, parts.log)
  }

  start(): void {
    this.#looks.start()
  }

  close(): void {
    this.#looks.stop()
  }

  look(): void {
    const { figure } = this.#parts
    const all = this.#all()
    for (let left = Math.min(LOOKED_AT_MAX, all.length); left > 0; left--) {
      this.#next = (this.#next + 1) % all.length
      const named = all[this.#next]
      // While HAProxy does not answer, the address is unknown.
      if (named === undefined || figure(named.key, 'status') === undefined) continue
      const before = this.#seen.get(named.key)
      const known = before?.name === named.real.ip ? before : undefined
      this.#seen.set(named.key, this.#judge(named, known, addressIn(figure(named.key, 'addr'))))
    }
  }

  /**
   * Returns the new state. The first address is no news. A missing one counts only at the second check: at its start
   * HAProxy has not resolved the name yet.
   */
  #judge(named: Named, known: Seen | undefined, at: string | undefined): Seen {
    const { ip: name } = named.real
    if (known === undefined) return { name, at, told: at ?? '' }
    if (at === known.told || (at === undefined && known.at !== undefined)) return { ...known, at }
    if (at === undefined ? known.told !== undefined : known.told !== '') this.#tell(named, at, known.told)
    return { name, at, told: at }
  }

  #tell({ backend, real }: Named, address: string | undefined, before: string | undefined): void {
    this.#parts.events.publish('realServer', {
      state: address === undefined ? 'unresolved' : 'resolved',
      id: real.id,
      name: real.name,
      backendId: backend.id,
      backendName: backend.name,
      host: real.ip,
      address: address ?? null,
      before: before === undefined || before === '' ? null : before,
    })
  }

  /** Returns the names to check; collected again when the running configuration changes. */
  #all(): readonly Named[] {
    const { running, revision } = this.#parts
    if (this.#of === revision()) return this.#named
    this.#of = revision()
    this.#named = [...running.list('l7Backends')].flatMap((backend) =>
      backend.reals.flatMap(({ ripId }) => {
        const real = running.get('realServers', ripId)
        if (real === undefined || resolvedAt(real) === undefined) return []
        return [{ backend, real, key: rowKey('server', backend.id, ripId) }]
      }),
    )
    const keys = new Set(this.#named.map(({ key }) => key))
    this.#seen = new Map([...this.#seen].filter(([key]) => keys.has(key)))
    return this.#named
  }
}

/** Returns the address without the port, and without the brackets of IPv6. */
function addressIn(text: string | undefined): string | undefined {
  return text?.slice(0, text.lastIndexOf(':')).replace(/^\[|\]$/g, '')
}
