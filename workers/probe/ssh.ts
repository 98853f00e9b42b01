import type { SshFacts } from '../../src/model/machine-facts.ts'
import type { Host } from '../../src/drivers/host.ts'
import type { Run } from '../host/managed-program.ts'

export async function readSsh(_host: Host, _run: Run): Promise<SshFacts> {
  throw new Error('sshd is not read yet')
}
