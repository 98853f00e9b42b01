import { createMachine } from '../../machine/machine.ts'
import { readSettings } from '../../settings.ts'
import type { NodeStart } from './node-process.ts'

/**
 * Ends the HAProxy and etcd of a node, which outlive a daemon that was killed. Returns the reason if one did not end.
 */
export async function endPrograms({ args, env }: NodeStart): Promise<string | undefined> {
  const settings = readSettings(args, env)
  if (settings === 'help' || settings.profile === 'witness') return undefined
  const machine = createMachine(settings)
  try {
    return await machine.stopSupervised()
  } finally {
    await machine.close()
  }
}
