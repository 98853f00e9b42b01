import type { ApiListeners } from './api-listeners.ts'
import { clientIp } from '../base/ip-network.ts'
import type { ConfigView } from '../model/sections.ts'
import type { MachineFacts } from '../model/machine-facts.ts'

/** Says why a client would no longer reach the API at the address it is connected to; undefined if it would. */
export function leftBehindGuard(api: Pick<ApiListeners, 'port' | 'leaves'>, facts: Pick<MachineFacts, 'connections'>) {
  return async (running: ConfigView, desired: ConfigView, address: string): Promise<string | undefined> => {
    const client = clientIp(address)
    // Nearly every apply leaves the API where it is, and then no connections need to be looked up.
    if (!api.leaves(running, desired, client)) return undefined
    const connections = await facts.connections(client, api.port)
    // A client on this machine can reach all of its addresses.
    const left = connections.find(({ local }) => local !== client && api.leaves(running, desired, local))
    return left === undefined
      ? undefined
      : `the API would no longer listen on ${left.local}, which you are connected to`
  }
}
