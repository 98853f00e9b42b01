import type { PingResult } from '../../src/model/machine-facts.ts'
import type { Run } from '../host/managed-program.ts'

export async function ping(_from: string, _to: string, _run: Run): Promise<PingResult> {
  throw new Error('nothing is pinged yet')
}
