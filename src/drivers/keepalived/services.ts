import { canonicalIp } from '../../base/ip-network.ts'
import type { L4Backend, L4Frontend, L4Real } from '../../model/layer4.ts'
import { parsePorts } from '../../model/ports.ts'
import type { RealServer } from '../../model/real-server.ts'
import type { ConfigView } from '../../model/sections.ts'
import { isResting } from '../resting.ts'
import { isOnePort, marksOf } from './marks.ts'

/** The share of a real server: its weight, 0 while drained; a halted one is not in the kernel's table. */
export type Share = number | 'halted'

/** One real server of a frontend. */
export interface Destination {
  readonly ripId: string
  readonly name: string
  readonly ip: string
  /** 0: the port that the client used. */
  readonly port: number
  /** The port in the record; null: the client's port. */
  readonly ownPort: number | null
  readonly share: Share
  /** Name of the file with its weight; servers with the same share use the same file. */
  readonly weightFile: string
  /** Port for checks where the real server has no port of its own. */
  readonly checkPort: number
}

/** A frontend as the kernel knows it: by its address, or by firewall marks. */
export interface Served {
  /** Addresses are in the form that nft reads and ipvsadm prints. */
  readonly frontend: L4Frontend
  readonly backend: L4Backend
  readonly firstPort: number
  readonly marks: readonly number[]
  readonly destinations: readonly Destination[]
  /** The common port of all real servers, if packets must have it before the kernel balances them. */
  readonly rewrittenPort: number | undefined
}

/** Returns the serving frontends, sorted by id. One whose backend has no real server does not serve. */
export function servedFrontends(view: ConfigView): readonly Served[] {
  return [...servedPortions(view)].flatMap((served) => (served === undefined ? [] : [served]))
}

/** Like `servedFrontends`, one frontend at a time. */
export function* servedPortions(view: ConfigView): Generator<Served | undefined> {
  const marks = marksOf(view)
  const frontends = [...view.list('l4Frontends')].sort((a, b) => (a.id < b.id ? -1 : 1))
  for (const frontend of frontends) yield servedFrontend(frontend, marks.get(frontend.id) ?? [], view)
}

/** Returns a frontend with its destinations; undefined when it has none. */
export function servedFrontend(frontend: L4Frontend, marks: readonly number[], view: ConfigView): Served | undefined {
  const backend = view.get('l4Backends', frontend.backendId)
  if (!frontend.enabled || backend === undefined || isResting(frontend, view)) return undefined
  const reals = backend.reals.map(({ ripId }) => view.get('realServers', ripId))
  const known = servedBefore.get(frontend)
  if (known !== undefined && isStill(known, backend, marks, reals)) return known.served
  const served = serve({ ...frontend, ip: canonicalIp(frontend.ip) }, backend, marks, reals)
  const kept = { backend, reals, served: served.destinations.length === 0 ? undefined : served, marks }
  servedBefore.set(frontend, kept)
  return kept.served
}

interface Known {
  readonly backend: L4Backend
  readonly marks: readonly number[]
  readonly reals: readonly (RealServer | undefined)[]
  readonly served: Served | undefined
}

// Records are never changed in place, so a result for the same records is reused. Most changes touch one server of
// thousands.
const servedBefore = new WeakMap<L4Frontend, Known>()

function isStill(
  known: Known,
  backend: L4Backend,
  marks: readonly number[],
  reals: readonly (RealServer | undefined)[],
): boolean {
  return (
    known.backend === backend &&
    known.marks.length === marks.length &&
    known.marks[0] === marks[0] &&
    known.reals.every((real, at) => real === reals[at])
  )
}

function serve(
  frontend: L4Frontend,
  backend: L4Backend,
  marks: readonly number[],
  reals: readonly (RealServer | undefined)[],
): Served {
  const firstPort = parsePorts(frontend.ports)?.[0]?.first ?? 0
  const clientPort = marks.length > 0 ? 0 : firstPort
  const translates = frontend.forwarding === 'masq' && (marks.length < 2 || isOnePort(frontend))
  const destinations = backend.reals.flatMap((member, at): readonly Destination[] => {
    const real = reals[at]
    if (real === undefined) return []
    const ownPort = member.port ?? real.port
    const { id: ripId, name } = real
    return [
      {
        ripId,
        name,
        ip: canonicalIp(real.ip),
        port: translates ? (ownPort ?? clientPort) : clientPort,
        ownPort,
        share: shareOf(member, real),
        weightFile: weightFileOf(backend.id, member),
        checkPort: ownPort ?? firstPort,
      },
    ]
  })
  const served = { frontend, backend, firstPort, marks, destinations }
  return { ...served, rewrittenPort: rewrittenPort(served) }
}

/**
 * Returns the port that packets get before the kernel sees them. The kernel does not translate the ports of a
 * persistent service that is reached by marks (seen in Linux 6.1: the connection goes to the port of the packet).
 */
function rewrittenPort({
  frontend: { forwarding },
  firstPort,
  marks,
  destinations,
}: Omit<Served, 'rewrittenPort'>): number | undefined {
  const [port = 0] = destinations.map((one) => one.port)
  const isRewritten = forwarding === 'masq' && marks.length > 1 && port !== 0 && port !== firstPort
  return isRewritten ? port : undefined
}

function shareOf(member: L4Real, { state, weight }: RealServer): Share {
  if (state === 'halted') return 'halted'
  return state === 'drained' ? 0 : (member.weight ?? weight)
}

/** A real server has the same weight in all backends that give it none of their own. */
function weightFileOf(backendId: string, { ripId, weight }: L4Real): string {
  return weight === undefined ? ripId : `${backendId}_${ripId}`
}
