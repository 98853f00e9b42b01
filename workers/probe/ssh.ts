import type { Host } from '../../src/drivers/host.ts'
import type { SshFacts } from '../../src/model/machine-facts.ts'
import type { Run } from '../host/managed-program.ts'

const TIMEOUT_MS = 10_000
const SSHD = '/usr/sbin/sshd'

/** Reads what sshd would do with the machine's own configuration; of several ports, the first. */
export async function readSsh(host: Pick<Host, 'readSetting' | 'unitState'>, run: Run): Promise<SshFacts> {
  const { exitCode, output } = await run([SSHD, '-T'], TIMEOUT_MS)
  if (exitCode === 127) return { enabled: undefined, port: undefined }
  const isEnabled = (await host.readSetting({ kind: 'unitEnabled', unit: 'ssh' })) === 'enabled'
  // An sshd that was started by hand runs as well: a setting must not end it.
  const enabled = isEnabled || (await host.unitState('ssh')) === 'running'
  const port = exitCode === 0 ? Number(/^port (\d+)$/m.exec(output)?.[1]) : Number.NaN
  return { enabled, port: Number.isInteger(port) ? port : undefined }
}
