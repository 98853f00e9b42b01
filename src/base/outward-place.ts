import { lookup } from 'node:dns/promises'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { isInward } from './inward-address.ts'
import { networkText, parseNetwork } from './ip-network.ts'

export interface OutwardRules {
  readonly allowsLoopback: boolean
  /** Internal addresses and networks that may be reached all the same. */
  readonly allowed: readonly string[]
  /** What must not be at an internal address, in the words of the refusal. */
  readonly refusal: string
}

export interface Found {
  /** The first of the addresses. */
  readonly address: string
  readonly family: 4 | 6
  /** Always returns the addresses that were found. */
  readonly lookup: LookupFunction
}

/**
 * Returns the present addresses of a user-supplied host. Connections go to exactly these addresses, so a later change
 * of the name has no effect. A user who may name a host must not reach what only this machine can reach.
 */
export async function outwardPlace(host: string, { allowsLoopback, allowed, refusal }: OutwardRules): Promise<Found> {
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  const found = isIP(bare) === 0 ? await lookup(bare, { all: true, order: 'ipv4first' }) : [literal(bare)]
  for (const { address } of found)
    if (isInward(address, allowsLoopback) && !isAllowed(address, allowed))
      throw new Error(`${bare} is at ${address}, where ${refusal}`)
  const [first] = found
  if (first === undefined) throw new Error(`${bare} has no address`)
  const addresses = [...found]
  const lookupFound: LookupFunction = (_, { all }, tell) =>
    all === true ? tell(null, addresses) : tell(null, first.address, first.family)
  return { address: first.address, family: first.family === 6 ? 6 : 4, lookup: lookupFound }
}

const literal = (address: string) => ({ address, family: isIP(address) })

function isAllowed(address: string, allowed: readonly string[]): boolean {
  const list = new BlockList()
  for (const text of allowed) {
    const network = parseNetwork(text)
    if (network === undefined) continue
    const [ip = ''] = networkText(network).split('/')
    list.addSubnet(ip, network.prefix, network.family === 6 ? 'ipv6' : 'ipv4')
  }
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}
