import type { ApiListeners } from './api-listeners.ts'
import type { ConfigView } from './model/sections.ts'
import type { MachineFacts } from './model/machine-facts.ts'

/** Says why a client would find no API any more where it is connected to; undefined when it would. */
export function leftBehindGuard(api: Pick<ApiListeners, 'port' | 'leaves'>, facts: Pick<MachineFacts, 'connections'>) {
  return async (running: ConfigView, desired: ConfigView, address: string): Promise<string | undefined> => {
    const client = address.replace(/^::ffff:/i, '')
    const connections = await facts.connections(client, api.port)
    // Who is on this machine reaches every address of it.
    const left = connections.find(({ local }) => local !== client && api.leaves(running, desired, local))
    return left === undefined
      ? undefined
      : `the API would no longer listen on ${left.local}, which you are connected to`
  }
}
