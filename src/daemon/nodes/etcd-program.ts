import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { etcdVersion, versionProblem } from '../../etcd/version.ts'
import { SettingsError } from '../../settings.ts'

/** An etcd that can run a cluster. */
export interface EtcdProgram {
  readonly program: string
  readonly version: string
}

/** Exists only in a clone, not in a package. */
const FETCH = fileURLToPath(new URL('../../../.ci/etcd.mjs', import.meta.url))
const MACHINES = 'etcd'

/** Returns the named program, or the machine's, or one that is downloaded without being installed. */
export async function etcdProgram(named: string, fetch = FETCH): Promise<EtcdProgram> {
  const found = await tried(named)
  if (typeof found !== 'string') return found
  if (named !== MACHINES) throw new SettingsError(`FULCRUM_ETCD ${named}: ${found}`)
  if (!existsSync(fetch)) throw new Error(`a cluster needs etcd: ${found}`)
  const fetched = await tried(join(await fetchedFolder(fetch), MACHINES))
  if (typeof fetched === 'string') throw new Error(fetched)
  return fetched
}

/** Returns the program, or the reason why it cannot be used. */
function tried(program: string): Promise<EtcdProgram | string> {
  return new Promise((resolve) => {
    execFile(program, ['--version'], (error, stdout) => {
      if (error !== null) resolve(`it cannot be run (${String(error.code)}), so ${versionProblem('') ?? ''}`)
      else resolve(versionProblem(stdout) ?? { program, version: etcdVersion(stdout) ?? '' })
    })
  })
}

/** Downloads etcd; the script prints its progress and its errors on the terminal. */
async function fetchedFolder(fetch: string): Promise<string> {
  const child = spawn(process.execPath, [fetch], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [folder, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  if (code === 0) return folder.trim()
  throw new Error('a cluster needs etcd 3.5 or newer: install it, or name its program with FULCRUM_ETCD')
}
