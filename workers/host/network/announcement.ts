import { familyOfAddress, type KernelAddress } from './kernel-state.ts'
import type { Run } from '../managed-program.ts'

const TIMEOUT_MS = 10_000
/** Number of addresses that are announced at once. */
const GROUP_MAX = 200
/** Takes a second, in which arping waits for answers. */
const ANNOUNCE = 'while [ $# -gt 1 ]; do arping -q -U -c 1 -I "$1" "$2" & shift 2; done; wait'

/**
 * Tells the neighbours of each IPv4 address which machine has it now. Another one may have had it a moment ago, and a
 * router may remember that one for hours: the kernel itself says nothing when an address is added. IPv6 neighbours ask
 * again by themselves after some seconds. Without arping nothing is sent.
 */
export async function announce(addresses: readonly KernelAddress[], run: Run): Promise<void> {
  const told = addresses.filter((address) => familyOfAddress(address) === 4)
  for (let at = 0; at < told.length; at += GROUP_MAX) {
    const words = told.slice(at, at + GROUP_MAX).flatMap(({ link, ip }) => [link, ip])
    // The daemon's own unit may open no socket for frames.
    await run(['sh', '-c', ANNOUNCE, 'sh', ...words], TIMEOUT_MS, { isUnconfined: true })
  }
}
