import type { DesiredNetwork } from '../../../src/drivers/host.ts'
import type { Run } from '../managed-program.ts'
import type { KernelState } from './kernel-state.ts'

/**
 * Brings up the interfaces that need an address and are down; returns their names, so that a failed change can bring
 * them down again. An interface that has carried an address stays up.
 */
export async function raiseLinks(
  { addresses }: DesiredNetwork,
  { links }: KernelState,
  run: Run,
  timeout_ms: number,
): Promise<readonly string[]> {
  const wanted = new Set(addresses.map(({ interfaceId }) => interfaceId))
  const names = links.filter(({ id, isUp }) => !isUp && wanted.has(id)).map(({ name }) => name)
  await setLinks(names, 'up', run, timeout_ms)
  return names
}

export async function setLinks(
  names: readonly string[],
  state: 'up' | 'down',
  run: Run,
  timeout_ms: number,
): Promise<void> {
  if (names.length === 0) return
  const input = names.map((name) => `link set dev ${name} ${state}\n`).join('')
  // Refusals by the kernel show when its state is read afterwards.
  await run(['ip', '-force', '-batch', '-'], timeout_ms, { input })
}
