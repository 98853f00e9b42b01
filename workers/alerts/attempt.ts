import { lookup } from 'node:dns/promises'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { isInward } from '../../src/base/inward-address.ts'
import { networkText, parseNetwork } from '../../src/base/ip-network.ts'
import type { Sending, Stage } from '../../src/model/alerts.ts'

/** Sends messages; yields how many more the target has taken. */
export type Way = (sending: Sending) => AsyncGenerator<number, void>

/** Why a message is not taken, as servers and libraries say it: with secrets, perhaps. */
export class Failed extends Error {
  readonly stage: Stage
  readonly retryAfter_s: number | undefined
  readonly isFinal: boolean

  constructor(
    stage: Stage,
    reason: string,
    more: { readonly retryAfter_s?: number | undefined; readonly isFinal?: boolean } = {},
  ) {
    super(reason)
    this.stage = stage
    this.retryAfter_s = more.retryAfter_s
    this.isFinal = more.isFinal ?? false
  }
}

export interface Found {
  /** The first of the addresses. */
  readonly address: string
  readonly family: 4 | 6
  /** Answers what was found, whenever it is asked. */
  readonly lookup: LookupFunction
}

/**
 * Where a host is now. Connections go to these very addresses: what the name means a moment later changes nothing of
 * it. Whoever may set a target must not reach what only this machine may.
 */
export async function placeOf(host: string, rules: Pick<Sending, 'allowsLoopback' | 'allowed'>): Promise<Found> {
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  const found = isIP(bare) === 0 ? await resolve(bare) : [{ address: bare, family: isIP(bare) }]
  for (const { address } of found)
    if (isInward(address, rules.allowsLoopback) && !isAllowed(address, rules.allowed))
      throw new Failed('resolve', `${bare} is at ${address}, where no alert target may be unless --alerts-to allows it`)
  const [first] = found
  if (first === undefined) throw new Failed('resolve', `${bare} has no address`)
  const addresses = [...found]
  const lookupFound: LookupFunction = (_, { all }, tell) =>
    all === true ? tell(null, addresses) : tell(null, first.address, first.family)
  return { address: first.address, family: first.family === 6 ? 6 : 4, lookup: lookupFound }
}

async function resolve(name: string): Promise<readonly { readonly address: string; readonly family: number }[]> {
  try {
    return await lookup(name, { all: true, order: 'ipv4first' })
  } catch (error) {
    throw new Failed('resolve', reasonOf(error))
  }
}

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

export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message || error.name : String(error)
