import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { ConfigView } from '../model/sections.ts'
import type { MachineFacts } from '../model/machine-facts.ts'
import { canonicalIp, contains, parseNetwork } from '../base/ip-network.ts'

export interface CutOffParts {
  readonly facts: Pick<MachineFacts, 'interfaces' | 'ping'>
  readonly running: Pick<ConfigView, 'list'>
  /** Returns the addresses of a name; rejects if it cannot be resolved. */
  readonly lookUp?: (name: string) => Promise<readonly { readonly address: string }[]>
}

/**
 * Returns why this node, whose partner is gone, may be the one that is cut off, as half a sentence. If it reaches its
 * partner over a subnet with a gateway, the gateway must answer; loopback always exists.
 */
export async function cutOff(parts: CutOffParts, host: string): Promise<string | undefined> {
  if (isIP(host) !== 0) return isLoopback(canonicalIp(host)) ? undefined : await cutOffAt(parts, canonicalIp(host))
  const { lookUp = (name) => lookup(name, { all: true }) } = parts
  const found = (await lookUp(host).catch(() => [])).map(({ address }) => canonicalIp(address))
  const reached = found.filter((ip) => !isLoopback(ip))
  // Debian resolves a machine's own name to a loopback address, so any of its addresses may be the one.
  if (reached.length === 0) return await cutOffAnywhere(parts, host)
  let first: string | undefined
  for (const ip of reached) {
    const why = await cutOffAt(parts, ip)
    if (why === undefined) return undefined
    first ??= why
  }
  return first
}

async function cutOffAnywhere(parts: CutOffParts, host: string): Promise<string | undefined> {
  const all = (await parts.facts.interfaces()).flatMap(({ addresses }) => addresses.map(({ ip }) => canonicalIp(ip)))
  const outside = all.filter((ip) => !isLoopback(ip) && !isLinkLocal(ip))
  if (outside.length === 0) return `${host} is not a known address of this node for others`
  for (const ip of outside) {
    const why = await cutOffAt(parts, ip)
    if (why !== undefined) return why
  }
  return undefined
}

const isLinkLocal = (ip: string) => /^fe[89ab]/.test(ip)

const isLoopback = (ip: string) => ip.startsWith('127.') || ip === '::1'

async function cutOffAt({ facts, running }: CutOffParts, own: string): Promise<string | undefined> {
  const isOwn = ({ ip }: { readonly ip: string }) => canonicalIp(ip) === own
  const found = (await facts.interfaces()).find(({ addresses }) => addresses.some(isOwn))
  if (found === undefined) return `${own} is not an address of this node at the moment`
  if (found.state === 'down') return `${found.name} has no carrier`
  const gateway = gatewayBeside(running, own)
  if (gateway === undefined) return undefined
  const { ok } = await facts.ping(own, gateway)
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
