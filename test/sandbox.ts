import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const SANDBOX = fileURLToPath(new URL('../src/health-checks/sandbox.sh', import.meta.url))

/** Why nothing can be run in the sandbox here; false when it can. */
export function sandboxProblem(): string | false {
  const { status, stderr } = spawnSync('sh', [SANDBOX, 'probe'], { encoding: 'utf8' })
  return status === 0 ? false : `no sandbox here: ${stderr.trim()}`
}
