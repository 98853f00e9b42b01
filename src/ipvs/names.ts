import { type Destination, type Served, servedFrontends } from '../drivers/keepalived/services.ts'
import type { ConfigView } from '../model/sections.ts'
import { destKey, markKey, serviceKey } from './addresses.ts'

/** The entries of the kernel's table by configured object: derived from running, and used where the table is read. */
export interface IpvsPlan {
  /** Changes whenever the plan does. */
  readonly version: number
  readonly frontends: readonly PlannedFrontend[]
  readonly backends: readonly PlannedBackend[]
}

export interface PlannedFrontend {
  readonly id: string
  /** Whether answers pass through this machine and are counted. */
  readonly isOutboundSeen: boolean
  /** Keys of its services; none while it does not serve. */
  readonly services: readonly string[]
}

export interface PlannedBackend {
  readonly id: string
  readonly isOutboundSeen: boolean
  /** Whether a frontend sends connections to it. */
  readonly isUsed: boolean
  readonly members: readonly PlannedMember[]
}

/** A real server in a backend. */
export interface PlannedMember {
  readonly ripId: string
  /** Keys of its destinations, one per service of each frontend that uses the backend. */
  readonly dests: readonly string[]
  /** Its share of new connections; a halted member is in none of the services. */
  readonly share: 'some' | 'none' | 'halted'
}

/** A destination belongs to its service: the same server in another service is another destination. */
export const destinationKey = (service: string, dest: string): string => `${service}/${dest}`

/** Returns the service in a destination's key. */
export const serviceOfKey = (key: string): string => key.slice(0, key.indexOf('/'))

export function ipvsPlan(view: ConfigView, version: number): IpvsPlan {
  const served = servedFrontends(view)
  const byId = new Map(served.map((one) => [one.frontend.id, one]))
  const usersOf = new Map<string, Served[]>()
  for (const one of served) usersOf.set(one.backend.id, [...(usersOf.get(one.backend.id) ?? []), one])
  return {
    version,
    frontends: [...view.list('l4Frontends')].map(({ id, forwarding }) => {
      const one = byId.get(id)
      const services = one === undefined ? [] : servicesOf(one)
      return { id, isOutboundSeen: forwarding === 'masq', services }
    }),
    backends: [...view.list('l4Backends')].map(({ id, reals }) => {
      const users = usersOf.get(id) ?? []
      // A sum without the traffic of one of its frontends would be misleading.
      const isOutboundSeen = users.every(({ frontend }) => frontend.forwarding === 'masq')
      const members = users.map(membersOf)
      return {
        id,
        isOutboundSeen,
        isUsed: users.length > 0,
        members: reals.map(({ ripId }) => memberOf(ripId, members)),
      }
    }),
  }
}

function servicesOf({ frontend, firstPort, marks }: Served): readonly string[] {
  const { ip, protocol } = frontend
  return marks.length > 0 ? marks.map((mark) => markKey(ip, mark)) : [serviceKey(protocol, ip, firstPort)]
}

interface Members {
  readonly services: readonly string[]
  readonly byId: ReadonlyMap<string, Destination>
}

const membersOf = (served: Served): Members => ({
  services: servicesOf(served),
  byId: new Map(served.destinations.map((destination) => [destination.ripId, destination])),
})

function memberOf(ripId: string, users: readonly Members[]): PlannedMember {
  let share: PlannedMember['share'] = 'halted'
  const dests: string[] = []
  for (const { services, byId } of users) {
    const destination = byId.get(ripId)
    if (destination === undefined) continue
    if (destination.share !== 'halted') share = destination.share > 0 ? 'some' : 'none'
    const dest = destKey(destination.ip, destination.port)
    for (const service of services) dests.push(destinationKey(service, dest))
  }
  return { ripId, dests, share }
}

/** Columns of an object's row of numbers; NaN is unknown. */
export const COLUMN = {
  connections: 0,
  packetsIn: 1,
  packetsOut: 2,
  bytesIn: 3,
  bytesOut: 4,
  connectionsPerSecond: 5,
  packetsInPerSecond: 6,
  packetsOutPerSecond: 7,
  bytesInPerSecond: 8,
  bytesOutPerSecond: 9,
  activeConnections: 10,
  inactiveConnections: 11,
  persistentConnections: 12,
  weight: 13,
  /** Number of the object's services that are in the kernel's table. */
  services: 14,
  /** Number of its destinations that are in the kernel's table. */
  dests: 15,
  /**
   * Totals of its entries since the first reading, including those of removed entries, so that they never decrease. In
   * the order of the first five.
   */
  countedConnections: 16,
  countedPacketsIn: 17,
  countedPacketsOut: 18,
  countedBytesIn: 19,
  countedBytesOut: 20,
} as const
export const COLUMNS = 21
export const OUTBOUND: readonly number[] = [
  COLUMN.packetsOut,
  COLUMN.bytesOut,
  COLUMN.packetsOutPerSecond,
  COLUMN.bytesOutPerSecond,
  COLUMN.countedPacketsOut,
  COLUMN.countedBytesOut,
]

/** Returns the row number of each object by its key: frontends, backends, then the members of each backend. */
export function rowsOf(plan: IpvsPlan, key: RowKey): ReadonlyMap<string, number> {
  const rows = new Map<string, number>()
  let row = 0
  for (const { id } of plan.frontends) rows.set(key('frontend', id, ''), row++)
  for (const { id } of plan.backends) rows.set(key('backend', id, ''), row++)
  for (const { id, members } of plan.backends)
    for (const { ripId } of members) rows.set(key('server', id, ripId), row++)
  return rows
}
export type RowKey = (kind: 'frontend' | 'backend' | 'server', proxy: string, server: string) => string
