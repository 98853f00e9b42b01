import { isIP } from 'node:net'
import type { ConfigView } from '../model/sections.ts'
import type { MachineFacts } from '../model/machine-facts.ts'
import { contains, parseNetwork } from '../base/ip-network.ts'

export interface CutOffParts {
  readonly facts: Pick<MachineFacts, 'interfaces' | 'ping'>
  readonly running: Pick<ConfigView, 'list'>
}

/**
 * Why this node, whose partner is gone, may be the one that is cut off, as half a sentence. Where it reaches its
 * partner over a subnet with a gateway, that has to answer; loopback is always there.
 */
export async function cutOff({ facts, running }: CutOffParts, host: string): Promise<string | undefined> {
  if (isIP(host) === 0 || host.startsWith('127.') || host === '::1') return undefined
  const found = (await facts.interfaces()).find(({ addresses }) => addresses.some(({ ip }) => ip === host))
  if (found === undefined) return `${host} is no address of this node at the moment`
  if (found.state === 'down') return `${found.name} has no carrier`
  const gateway = gatewayBeside(running, host)
  if (gateway === undefined) return undefined
  const { ok } = await facts.ping(host, gateway)
  return ok ? undefined : `the gateway ${gateway} does not answer`
}

function gatewayBeside(running: Pick<ConfigView, 'list'>, host: string): string | undefined {
  const own = parseNetwork(host)
  for (const { networkIp, networkMask, gateway } of running.list('ipGroups')) {
    const subnet = networkIp === '' ? undefined : parseNetwork(`${networkIp}/${networkMask}`)
    if (gateway !== '' && own !== undefined && subnet !== undefined && contains(subnet, own)) return gateway
  }
  return undefined
}
