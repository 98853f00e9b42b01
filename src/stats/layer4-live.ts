import type { LiveView } from '../context/figures.ts'
import type { Rendered } from '../context/rendered.ts'
import { COLUMN, COLUMNS, type IpvsPlan, rowsOf } from '../ipvs/names.ts'
import type { Health } from '../model/real-server.ts'
import type { ConfigView } from '../model/sections.ts'
import { worstHealth } from './health.ts'
import type { FrameSource } from './figure-frames.ts'
import { ascii, JsonBuffer } from '../base/json-buffer.ts'
import { validity } from '../base/validity.ts'
import { KeptAnswers, writePieces } from './kept-answers.ts'
import type { LiveKind } from './live-fields.ts'
import { hasObject, listObjects, listSome, type LiveElement, type ObjectLists, planView, rowKey } from './live-plan.ts'
import type { OnFound, Watched } from './live-scan.ts'
import type { Layer4Health } from './layer4-health.ts'
import type { ObjectNames } from './names.ts'

/** The result of the last reading. Without `figures` the table could not be read. */
export interface Layer4Tick {
  readonly figures: Float64Array | undefined
  readonly since_ms: number
  readonly reason: string | undefined
}

export interface Layer4LiveOptions {
  readonly running: ConfigView
  readonly revision: () => number
  readonly names: ObjectNames
  readonly health: Layer4Health
  readonly nonce: string
}

const TRAFFIC = [
  'connections',
  'packetsIn',
  'packetsOut',
  'bytesIn',
  'bytesOut',
  'connectionsPerSecond',
  'packetsInPerSecond',
  'packetsOutPerSecond',
  'bytesInPerSecond',
  'bytesOutPerSecond',
] as const
const OF_REAL = [...TRAFFIC, 'activeConnections', 'inactiveConnections', 'persistentConnections', 'weight'] as const

const prepared = (names: readonly (keyof typeof COLUMN)[]) =>
  names.map((name) => ({ label: ascii(`,"${name}":`), column: COLUMN[name] }))
/**
 * The figures of each kind of object, in the order of the answer; backends and real servers have some texts besides.
 */
const FIELDS = { frontend: prepared(TRAFFIC), backend: prepared(TRAFFIC), server: prepared(OF_REAL) } as const
const NULL = ascii('null')
export const LAYER_4_STATISTICS = 'Layer 4 statistics'

/** Renders live answers of Layer 4: on the first request, and at most once per reading and view. */
export class Layer4Live implements FrameSource {
  readonly #options: Layer4LiveOptions
  readonly #kept: KeptAnswers
  readonly #out = new JsonBuffer()
  #tick: Layer4Tick = { figures: undefined, since_ms: 0, reason: undefined }
  #sequence = 0
  /** The row numbers of the plan to which the figures belong. */
  #rows: ReadonlyMap<string, number> = new Map()
  #members: ReadonlyMap<string, readonly string[]> = new Map()
  #plan = -1

  constructor(options: Layer4LiveOptions) {
    this.#options = options
    this.#kept = new KeptAnswers(options.nonce)
  }

  get names(): ObjectNames {
    return this.#options.names
  }

  /** `plan`: the plan of the figures. */
  update(tick: Layer4Tick, plan: IpvsPlan | undefined): void {
    validity.endAnswers()
    this.#kept.drop(this.#sequence)
    this.#sequence++
    this.#tick = tick
    if (plan === undefined || plan.version === this.#plan) return
    this.#plan = plan.version
    this.#rows = rowsOf(plan, rowKey)
    // The table has no entry for a backend without a frontend: its connections are unknown.
    const used = plan.backends.filter(({ isUsed }) => isUsed)
    this.#members = new Map(
      used.map(({ id, members }) => [
        rowKey('backend', id, ''),
        members.filter(({ share }) => share === 'some').map(({ ripId }) => rowKey('server', id, ripId)),
      ]),
    )
  }

  render(view: LiveView): Rendered<Uint8Array> | undefined {
    const { names, revision } = this.#options
    const now = { sequence: this.#sequence, version: revision() }
    return this.#kept.answer(
      view,
      now,
      () => planView(view, names, this.#factsOf),
      (plan) => {
        writePieces(this.#out, this.problem ?? LAYER_4_STATISTICS, plan, (element) => this.put(element, this.#out))
        return this.#out
      },
    )
  }

  readonly #factsOf = { of: (kind: LiveKind, id: string) => this.#facts(kind, id) }

  /** The revision of the configuration, as its values are in the answers as well. */
  get version(): number {
    return this.#options.revision()
  }
  objects(wanted?: ReadonlySet<string>): ObjectLists {
    const { names } = this.#options
    return wanted === undefined ? listObjects(names, this.#factsOf) : listSome(names, wanted, this.#factsOf)
  }
  has(id: string): boolean {
    return hasObject(this.#options.names, id)
  }

  /** Returns the health of a real server over all Layer 4 backends that hold it. */
  health(ripId: string): Health {
    const { names, health } = this.#options
    return worstHealth((names.backendsOfRip(ripId) ?? []).map(({ id }) => health.of(id, ripId)))
  }

  /**
   * Returns the established connections of a real server in each Layer 4 backend that holds it; undefined while they
   * are unknown.
   */
  connections(ripId: string): readonly (number | undefined)[] {
    const { figures } = this.#tick
    return (this.#options.names.backendsOfRip(ripId) ?? []).map(({ id }) => {
      const row = this.#rows.get(rowKey('server', id, ripId))
      // A real server that is not in the kernel's table gets no connections.
      return row === undefined
        ? 0
        : figures === undefined
          ? undefined
          : figures[row * COLUMNS + COLUMN.activeConnections] || 0
    })
  }

  /** Finds the figures that are beyond a bound. Returns whether there are any figures. */
  scan(watched: readonly Watched[], found: OnFound): boolean {
    const { figures } = this.#tick
    if (figures === undefined) return false
    if (watched.some(({ isDown }) => isDown))
      this.#options.health.eachDown((backendId, ripId) => {
        for (const one of watched) if (one.isDown === true) found(one, 1, backendId, ripId)
      })
    const numbers = watched.flatMap((one) => (one.isDown === true ? [] : [{ one, column: columnOf(one.column) }]))
    if (numbers.length === 0) return true
    for (const [key, row] of this.#rows)
      for (const { one, column } of numbers) {
        if (!key.startsWith(one.kind)) continue
        const value = one.column === 'realsUp' ? this.realsUp(key) : figures[row * COLUMNS + column]
        if (value === undefined || !(value > one.above || value < one.below)) continue
        const [, proxy = '', server = ''] = key.split('\0')
        found(one, value, proxy, server)
      }
    return true
  }

  /** Whether the last reading of the kernel's table succeeded. */
  get hasFigures(): boolean {
    return this.#tick.figures !== undefined
  }

  /** Returns a figure of one object (see `rowKey`) in the last reading; undefined when there is none. */
  figure(key: string, column: keyof typeof COLUMN): number | undefined {
    return this.valueAt(this.#rows.get(key) ?? -1, column)
  }

  /** Changes whenever the rows change. */
  get layout(): number {
    return this.#plan
  }

  row(key: string): number | undefined {
    return this.#rows.get(key)
  }

  /** Like `figure`, for a known row; a negative row has no figures. */
  valueAt(row: number, column: keyof typeof COLUMN): number | undefined {
    const value = row < 0 ? undefined : this.#tick.figures?.[row * COLUMNS + COLUMN[column]]
    return value === undefined || value !== value ? undefined : value
  }

  /** Returns the health of a real server in one backend. */
  healthIn(backendId: string, ripId: string): Health {
    return this.#options.health.of(backendId, ripId)
  }

  /** The reason why there are no figures, when there are none. */
  get problem(): string | undefined {
    const { figures, since_ms, reason } = this.#tick
    if (figures !== undefined) return undefined
    if (since_ms === 0) return "The kernel's balancing table has not been read yet"
    const since = new Date(since_ms).toISOString()
    return `The kernel's balancing table has not been read since ${since}: ${reason ?? 'unknown reason'}`
  }

  /** Returns the fields of an answer that come from the running configuration. */
  #facts(kind: LiveKind, id: string): string {
    const { running } = this.#options
    if (kind === 'server') return fields({ state: running.get('realServers', id)?.state ?? null })
    if (kind === 'frontend') {
      const frontend = running.get('l4Frontends', id)
      const scheduler = running.get('l4Backends', frontend?.backendId ?? '')?.scheduler ?? null
      const { ip, ports, protocol, forwarding } = frontend ?? {}
      return fields({ ip, ports, protocol, forwarding, scheduler })
    }
    const states = (running.get('l4Backends', id)?.reals ?? []).map(
      ({ ripId }) => running.get('realServers', ripId)?.state,
    )
    const count = (state: string) => states.filter((one) => one === state).length
    return fields({ realsTotal: states.length, realsDrained: count('drained'), realsHalted: count('halted') })
  }

  put({ kind, head, rowKey: key }: LiveElement, out: JsonBuffer): void {
    const { figures } = this.#tick
    out.raw(head)
    const row = this.#rows.get(key)
    for (const { label, column } of FIELDS[kind]) {
      out.raw(label)
      writeNumber(out, row === undefined ? undefined : figures?.[row * COLUMNS + column])
    }
    if (kind === 'backend') {
      out.text(',"realsUp":')
      writeNumber(out, this.realsUp(key))
    } else if (kind === 'server') out.text(`,"health":"${this.#healthOf(key)}"`)
  }

  /** Returns how many real servers of a backend take new connections: online, and in the kernel's table. */
  realsUp(key: string): number | undefined {
    const { figures } = this.#tick
    const members = this.#members.get(key)
    if (figures === undefined || members === undefined) return undefined
    const isUp = (member: string) => {
      const at = (this.#rows.get(member) ?? 0) * COLUMNS
      const dests = figures[at + COLUMN.dests] ?? 0
      return dests > 0 && dests >= (figures[at + COLUMN.services] ?? 0) && figures[at + COLUMN.weight] !== 0
    }
    return members.filter(isUp).length
  }

  #healthOf(key: string): Health {
    const [, backendId = '', ripId = ''] = key.split('\0')
    return this.#options.health.of(backendId, ripId)
  }
}

/** A name that is no figure gets a column without a number. */
const columnOf = (name: string): number => Reflect.get(COLUMN, name) ?? Number.NaN

const fields = (values: Readonly<Record<string, unknown>>): string =>
  Object.entries(values)
    .map(([name, value]) => `,"${name}":${JSON.stringify(value ?? null)}`)
    .join('')

function writeNumber(out: JsonBuffer, value: number | undefined): void {
  if (value === undefined || value !== value) out.raw(NULL)
  else out.number(value)
}
