import type { LiveView } from '../context/figures.ts'
import type { Health } from '../model/real-server.ts'
import { worstHealth } from './health.ts'

/** One object of an answer, as the API shows it. */
export type Shown = Readonly<Record<string, unknown>>

/** Every object of one node, as `GET /ipvsDirector/stats` has them. */
export interface Layer4Objects {
  readonly frontends: readonly Shown[]
  readonly backends: readonly Shown[]
  readonly reals: readonly Shown[]
}

/** Figures of the kernel that add up. What else is told comes from the configuration, which nodes share. */
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

const idOf = (one: Shown) => String(one['id'])
const idInBackend = (one: Shown) => `${String(one['backendId'])} ${idOf(one)}`

/**
 * The objects of all nodes, each once: those of the first, then what only others run. An object that a node's kernel
 * does not have, such as a real server whose check fails there, adds nothing; the sum is null where nobody has figures.
 */
export function summed(nodes: readonly Layer4Objects[]): Layer4Objects {
  return {
    frontends: merged(
      nodes.map(({ frontends }) => frontends),
      idOf,
    ),
    backends: merged(
      nodes.map(({ backends }) => backends),
      idOf,
    ),
    reals: merged(
      nodes.map(({ reals }) => reals),
      idInBackend,
    ),
  }
}

function merged(lists: readonly (readonly Shown[])[], keyOf: (one: Shown) => string): readonly Shown[] {
  const found = new Map<string, Shown>()
  for (const one of lists.flat()) {
    const key = keyOf(one)
    const before = found.get(key)
    found.set(key, before === undefined ? one : together(before, one))
  }
  return [...found.values()]
}

const together = (one: Shown, other: Shown): Shown =>
  Object.fromEntries(Object.entries(one).map(([name, value]) => [name, fieldOf(name, value, other[name])]))

function fieldOf(name: string, one: unknown, other: unknown): unknown {
  // Sound: every node of this version tells one of these words.
  if (name === 'health') return worstHealth([one as Health, other as Health])
  if (typeof one !== 'number' || typeof other !== 'number') return one ?? other ?? null
  if (name === 'realsUp') return Math.min(one, other)
  return ADDED.has(name) ? one + other : one
}

/** What a view shows of them; undefined when nothing has its id. */
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
