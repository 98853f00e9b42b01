import type { LiveView } from '../context/figures.ts'
import type { Health } from '../model/real-server.ts'
import { worstHealth } from './health.ts'

/** One object of an answer, as the API shows it. */
export type Shown = Readonly<Record<string, unknown>>

/** Every object of one node, as in `GET /ipvsDirector/stats`. */
export interface Layer4Objects {
  readonly frontends: readonly Shown[]
  readonly backends: readonly Shown[]
  readonly reals: readonly Shown[]
}

/** Figures of the kernel that are added up. The other fields come from the configuration, which nodes share. */
const ADDED: ReadonlySet<string> = new Set([
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
  'activeConnections',
  'inactiveConnections',
  'persistentConnections',
])

/**
 * Returns the objects of all nodes, each once: those of the first, then those that only others have. An object that is
 * missing in a node's kernel, such as a real server whose check fails there, adds nothing; the sum is null where no
 * node has figures.
 */
export function summed(nodes: readonly Layer4Objects[]): Layer4Objects {
  return {
    frontends: merged(nodes.map(({ frontends }) => frontends)),
    backends: merged(nodes.map(({ backends }) => backends)),
    reals: merged(nodes.map(({ reals }) => reals)),
  }
}

/** A real server is listed once per backend. */
const keyOf = (one: Shown) => `${String(one['backendId'])} ${String(one['id'])}`

function merged([first = [], ...others]: readonly (readonly Shown[])[]): readonly Shown[] {
  const sums: Sum[] = first.map((one) => ({ ...one }))
  for (const list of others) {
    // Nodes with the same configuration list objects in the same order. Only other nodes need a table.
    let places: Map<string, Sum> | undefined
    for (const [place, one] of list.entries()) {
      const there = sums[place]
      if (there !== undefined && there['id'] === one['id'] && there['backendId'] === one['backendId']) {
        add(there, one)
        continue
      }
      places ??= new Map(sums.map((sum) => [keyOf(sum), sum]))
      const found = places.get(keyOf(one))
      if (found !== undefined) add(found, one)
      else {
        const added = { ...one }
        sums.push(added)
        places.set(keyOf(one), added)
      }
    }
  }
  return sums
}

type Sum = Record<string, unknown>

function add(sum: Sum, other: Shown): void {
  for (const name of Object.keys(sum)) {
    const [one, more] = [sum[name], other[name]]
    // Sound: an accepted report has one of these words here.
    if (name === 'health') sum[name] = worstHealth([one as Health, more as Health])
    else if (typeof one !== 'number' || typeof more !== 'number') sum[name] = one ?? more ?? null
    else if (ADDED.has(name)) sum[name] = one + more
    else if (name === 'realsUp') sum[name] = Math.min(one, more)
  }
}

/** Returns the part of the objects that a view shows; undefined when the id is unknown. */
export function shownIn(view: LiveView, { frontends, backends, reals }: Layer4Objects): unknown {
  switch (view.kind) {
    case 'all':
      return { frontends, backends, reals }
    case 'frontends':
      return frontends
    case 'backends':
      return backends
    case 'rips':
      return reals
    case 'frontend':
      return frontends.find((one) => one['id'] === view.id)
    case 'backend':
      return backends.find((one) => one['id'] === view.id)
    case 'backend-rips':
      return backends.some((one) => one['id'] === view.id)
        ? reals.filter((one) => one['backendId'] === view.id)
        : undefined
    default:
      return reals.some((one) => one['id'] === view.id) ? reals.filter((one) => one['id'] === view.id) : undefined
  }
}
