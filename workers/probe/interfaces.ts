import type { NetworkInterface } from '../../src/model/machine-facts.ts'
import type { Run } from '../host/managed-program.ts'

export async function readInterfaces(_run: Run): Promise<readonly NetworkInterface[]> {
  throw new Error('interfaces are not read yet')
}
