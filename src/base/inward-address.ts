import { BlockList, isIP } from 'node:net'
import { lazy } from './lazy.ts'

type Network = readonly [address: string, prefix: number]

const LOOPBACK: readonly Network[] = [
  ['127.0.0.0', 8],
  ['::1', 128],
]
/** Networks that are never reached: "this" network, link-local, multicast, and the metadata addresses of clouds. */
const NEVER: readonly Network[] = [
  ['0.0.0.0', 8],
  ['169.254.0.0', 16],
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['224.0.0.0', 3],
  ['::', 128],
  ['fe80::', 10],
  ['ff00::', 8],
  ['fd00:ec2::254', 128],
  ['fd20:ce::254', 128],
]

const loopback = lazy(() => listOf(LOOPBACK))
const never = lazy(() => listOf(NEVER))

function listOf(networks: readonly Network[]): BlockList {
  const list = new BlockList()
  for (const [address, prefix] of networks) list.addSubnet(address, prefix, familyOf(address))
  return list
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6'
}

/**
 * Returns whether connections to user-supplied names must not go to this address: it is this machine, or a service for
 * machines only.
 */
export function isInward(address: string, allowsLoopback: boolean): boolean {
  const family = familyOf(address)
  return never().check(address, family) || (!allowsLoopback && loopback().check(address, family))
}
