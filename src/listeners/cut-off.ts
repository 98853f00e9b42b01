import { desiredNetwork } from '../drivers/iproute2/desired.ts'
import { networkChange, type RouteChange, type Standing } from '../drivers/iproute2/network-change.ts'
import { nodeIn } from '../drivers/this-node.ts'
import { clientIp, contains, parseIp, parseNetwork } from '../base/ip-network.ts'
import type { Connection, MachineFacts, NetworkInterface } from '../model/machine-facts.ts'
import type { ConfigView } from '../model/sections.ts'

export interface CutOffParts {
  readonly nodeId: string
  readonly facts: Pick<MachineFacts, 'connections' | 'interfaces'>
  /** Current port of the API. */
  readonly api: { readonly port: number }
}

/**
 * Says, before a change of addresses or routes is made, why it could cut the client's own connection. Errs on the side
 * of caution: a changed route to the client counts even if the new route might lead there as well.
 */
export function cutOffGuard({ nodeId, facts, api }: CutOffParts) {
  return async (running: ConfigView, desired: ConfigView, address: string): Promise<string | undefined> => {
    const [before, after] = [
      desiredNetwork(running, nodeIn(running, nodeId)),
      desiredNetwork(desired, nodeIn(desired, nodeId)),
    ]
    if (JSON.stringify(before) === JSON.stringify(after)) return undefined
    const change = networkChange(before, after, standingOn(await facts.interfaces()))
    if (change.removedAddresses.length + change.routes.length === 0) return undefined
    const client = clientIp(address)
    for (const connection of await facts.connections(client, api.port)) {
      // Connections over loopback or from this machine itself need no route.
      if (connection.local === client || client.startsWith('127.') || client === '::1') continue
      if (change.removedAddresses.some((removed) => removed === connection.local)) {
        return `${connection.local}, which you are connected to, would be removed`
      }
      const route = change.routes.find((candidate) => concerns(candidate, client, connection))
      if (route !== undefined)
        return `the route from ${connection.local} to ${client} would change (${route.destination})`
    }
    return undefined
  }
}

/**
 * Returns all current addresses of the kernel, not only Fulcrum's: if another address keeps a network connected, its
 * route does not change.
 */
const standingOn = (interfaces: readonly NetworkInterface[]): readonly Standing[] =>
  interfaces.flatMap(({ id, addresses }) => addresses.map(({ ip, prefix }) => ({ interfaceId: id, ip, prefix })))

/**
 * Returns whether a route change affects the connection. The narrowest route wins, so the change matters if its
 * destination is at least as narrow as that of the route in use; rules for a source come before all others. A change of
 * the route to the gateway in use matters as well.
 */
function concerns({ destination, source }: RouteChange, client: string, connection: Connection): boolean {
  const { local, destination: used, via } = connection
  const [prefix, usedPrefix] = [prefixOf(destination), prefixOf(used)]
  if (source !== undefined) {
    return covers(source, local) && covers(destination, client) && (prefix > 0 || usedPrefix === 0)
  }
  if (via !== undefined && prefix > 0 && covers(destination, via)) return true
  return covers(destination, client) && prefix >= usedPrefix
}

const prefixOf = (network: string): number => parseNetwork(network)?.prefix ?? 0

function covers(network: string, ip: string): boolean {
  const [outer, inner] = [parseNetwork(network), parseIp(ip)]
  return outer !== undefined && inner !== undefined && contains(outer, inner)
}
