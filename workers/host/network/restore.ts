import { setTimeout as sleep } from 'node:timers/promises'
import type { DesiredNetwork } from '../../../src/drivers/host.ts'
import type { Run } from '../managed-program.ts'
import { KernelNetwork } from './kernel-network.ts'
import { readKernel } from './kernel-state.ts'
import { isNothing } from './memory.ts'

export interface Restoring {
  /** The file of `KernelNetwork`. */
  readonly file: string
  readonly run: Run
  readonly say: (line: string) => void
  /** How long to wait for interfaces that have not appeared yet. */
  readonly wait_ms: number
}

const POLL_MS = 250
const TIMEOUT_MS = 30_000

/**
 * Restores the network that was settled last, before programs listen on its addresses. Returns the exit code: 0 also
 * when an interface never appeared, which is reported; the next start of the daemon adds what is missing.
 */
export async function restoreNetwork({ file, run, say, wait_ms }: Restoring): Promise<number> {
  const network = new KernelNetwork(file, run)
  const wanted = await network.wanted()
  if (isNothing(wanted)) return 0
  await interfacesOf(wanted, run, wait_ms)
  const { exitCode, output, warnings } = await network.make(wanted, 'settle', TIMEOUT_MS, true)
  for (const warning of warnings) say(warning)
  const { addresses, routes, rules } = wanted
  const what = `${addresses.length} addresses, ${routes.length} routes and ${rules.length} rules`
  say(exitCode === 0 ? `restored ${what}` : `could not restore ${what}: ${output}`)
  return exitCode === 0 ? 0 : 1
}

async function interfacesOf(wanted: DesiredNetwork, run: Run, wait_ms: number): Promise<void> {
  const end_ms = performance.now() + wait_ms
  const ids = new Set([...wanted.addresses, ...wanted.routes].flatMap(({ interfaceId }) => interfaceId ?? []))
  for (;;) {
    const { links } = await readKernel(run, TIMEOUT_MS)
    const ready = new Set(links.map(({ id }) => id))
    if ([...ids].every((id) => ready.has(id)) || performance.now() > end_ms) return
    await sleep(POLL_MS)
  }
}
