import { familyOfAddress, type KernelAddress } from './kernel-state.ts'
import type { Run } from '../managed-program.ts'

const TIMEOUT_MS = 10_000
const AT_ONCE = 16

/**
 * Tells the neighbours of each IPv4 address which machine has it now. Another one may have had it a moment ago, and a
 * router may remember that one for hours: the kernel itself says nothing when an address is added. IPv6 neighbours ask
 * again by themselves after some seconds. Without arping nothing is sent. Never rejects.
 */
export async function announce(addresses: readonly KernelAddress[], run: Run): Promise<void> {
  const told = addresses.filter((address) => familyOfAddress(address) === 4)
  for (let at = 0; at < told.length; at += AT_ONCE) {
    const some = told.slice(at, at + AT_ONCE)
    // The daemon's own unit may open no socket for frames.
    const tell = ({ link, ip }: KernelAddress) =>
      run(['arping', '-q', '-U', '-c', '1', '-I', link, ip], TIMEOUT_MS, { isUnconfined: true })
    await Promise.allSettled(some.map(tell))
  }
}
