import { ascii } from '../base/json-buffer.ts'
import type { Layer4Live } from '../stats/layer4-live.ts'
import { rowKey } from '../stats/live-plan.ts'
import type { ObjectNames } from '../stats/names.ts'
import { type Exposition, labelText } from '../exposition/exposition.ts'
import { counter, type Family, gauge } from '../exposition/family.ts'
import { type ByKind, OBJECT_LABELS, type ObjectKind, serverState, STATES } from '../exposition/object-kinds.ts'

export interface Layer4Parts {
  readonly live: Pick<Layer4Live, 'figure' | 'healthIn' | 'realsUp' | 'hasFigures'>
  readonly names: ObjectNames
}

type Column = Parameters<Layer4Live['figure']>[1]
interface ColumnFamily {
  readonly family: Family
  readonly column: Column
}

const ONE_WAY = 'absent if replies bypass the node'
const TRAFFIC = [
  [counter, 'connections', 'countedConnections', 'Connections.'],
  [counter, 'received_packets', 'countedPacketsIn', 'Packets from clients.'],
  [counter, 'sent_packets', 'countedPacketsOut', `Packets to clients; ${ONE_WAY}.`],
  [counter, 'received_bytes', 'countedBytesIn', 'Bytes from clients.'],
  [counter, 'sent_bytes', 'countedBytesOut', `Bytes to clients; ${ONE_WAY}.`],
] as const
const OF_SERVERS = [
  [gauge, 'active_connections', 'activeConnections', 'Established connections.'],
  [gauge, 'inactive_connections', 'inactiveConnections', 'Closing connections.'],
  [gauge, 'persistent_clients', 'persistentConnections', 'Clients that persist on the server.'],
  [gauge, 'weight', 'weight', 'Weight: share of the traffic.'],
] as const

const columnsOf = (
  what: ObjectKind,
  rows: readonly (readonly [typeof counter, string, Column, string])[],
): readonly ColumnFamily[] =>
  rows.map(([make, name, column, help]) => ({
    column,
    family: make(`layer4_${what}_${name}`, help, OBJECT_LABELS[what]),
  }))

const COLUMNS: ByKind<readonly ColumnFamily[]> = {
  frontend: columnsOf('frontend', TRAFFIC),
  backend: columnsOf('backend', TRAFFIC),
  server: columnsOf('server', [...TRAFFIC, ...OF_SERVERS]),
}
const SERVERS_UP = gauge(
  'layer4_backend_servers_up',
  'Servers that accept new connections; absent for backends that no frontend uses.',
  OBJECT_LABELS.backend,
)
const UP = gauge(
  'layer4_server_up',
  'Whether the health check of the server passes; absent while unknown.',
  OBJECT_LABELS.server,
)
const STATE = serverState('layer4')

export const LAYER_4_FAMILIES: readonly Family[] = [
  ...Object.values(COLUMNS).flatMap((columns) => columns.map(({ family }) => family)),
  SERVERS_UP,
  UP,
  STATE,
]

interface Named {
  readonly key: string
  readonly labels: Uint8Array
  readonly id: string
  readonly backendId: string
}
type Known = Readonly<Record<ObjectKind, readonly Named[]>>

const PORTION = 128

/** Writes samples of Layer 4 from the last reading of the kernel's table. */
export class Layer4Samples {
  readonly #parts: Layer4Parts
  #known: { readonly version: number; readonly objects: Known } | undefined

  constructor(parts: Layer4Parts) {
    this.#parts = parts
  }

  /** Writes nothing while the table cannot be read, or is not used. */
  *write(out: Exposition): Generator<void> {
    const { live, names } = this.#parts
    if (!live.hasFigures) return
    if (this.#known?.version !== names.version) this.#known = { version: names.version, objects: objectsOf(names) }
    const { objects } = this.#known
    for (const kind of ['frontend', 'backend', 'server'] as const) {
      for (const { family, column } of COLUMNS[kind]) {
        out.begin(family)
        yield* each(out, objects[kind], ({ key }) => live.figure(key, column))
      }
    }
    out.begin(SERVERS_UP)
    yield* each(out, objects.backend, ({ key }) => live.realsUp(key))
    out.begin(UP)
    yield* each(out, objects.server, ({ id, backendId }) => {
      const health = live.healthIn(backendId, id)
      return health === 'unknown' ? undefined : Number(health === 'up')
    })
    out.begin(STATE)
    yield* each(out, objects.server, ({ id }) => {
      const state = names.state?.(id)
      return state && STATES[state]
    })
  }
}

function* each(out: Exposition, objects: readonly Named[], value: (one: Named) => number | undefined): Generator<void> {
  for (const [at, one] of objects.entries()) {
    if (at % PORTION === PORTION - 1) yield
    const told = value(one)
    if (told !== undefined) out.number(one.labels, told)
  }
}

function objectsOf(names: ObjectNames): Known {
  const named = (kind: ObjectKind, values: readonly string[], [backendId, id]: readonly [string, string]): Named => ({
    key: rowKey(kind, backendId, id),
    labels: ascii(labelText({ labels: OBJECT_LABELS[kind] }, values)),
    id,
    backendId,
  })
  const backends = [...names.backends()]
  return {
    frontend: Array.from(names.frontends(), ({ id, name }) => named('frontend', [id, name], [id, ''])),
    backend: backends.map(({ id, name }) => named('backend', [id, name], [id, ''])),
    server: backends.flatMap(({ id, name, reals }) =>
      reals.map((real) => named('server', [id, name, real.ripId, real.name], [id, real.ripId])),
    ),
  }
}
