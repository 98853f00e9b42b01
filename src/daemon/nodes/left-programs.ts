import { createMachine } from '../../machine/machine.ts'
import { readSettings } from '../../settings.ts'
import type { NodeStart } from './node-process.ts'

/** HAProxy and etcd outlive a daemon that was killed. Ends those of a node; answers why one did not end. */
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
