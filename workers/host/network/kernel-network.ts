import type { DesiredNetwork, NetworkOutcome, NetworkPhase } from '../../../src/drivers/host.ts'
import type { Run } from '../managed-program.ts'

/** Addresses, routes and rules of this node's kernel, through iproute2. */
export class KernelNetwork {
  /** `file` remembers which addresses are this daemon's; routes and rules carry its protocol number. */
  constructor(_file: string, _run: Run) {}

  async make(_desired: DesiredNetwork, _phase: NetworkPhase, _timeout_ms: number): Promise<NetworkOutcome> {
    throw new Error('the network is not made yet')
  }
}
