import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Finished {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

/** Folder of slow builds that are made once per machine. Only root uses it, and no other user may read it. */
export function testCache(): string {
  const cache = '/var/tmp/fulcrum-test-cache'
  mkdirSync(cache, { recursive: true, mode: 0o700 })
  return cache
}

/** Longest wait for a tree: half for another process that builds the same one, half to build it. */
export const TREE_MS_MAX = 1_800_000
/** A process that had to wait finds the tree built. The rest of a killed build is not a tree. */
const BUILD = `
test -e "$1" && exit
tree=$1 building=$2
shift 2
rm -rf --one-file-system "$building"
mmdebstrap "$@" "$building" && mv "$building" "$tree"
`

/** The code name of the Debian that runs this test. */
export function hostSuite(): string {
  return /^VERSION_CODENAME=(\w+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'bookworm'
}

/**
 * Root folder of a minimal Debian with these packages; built once and stored under a name derived from its recipe.
 * Packages in `offered` are downloaded as well, with their dependencies, and can be installed without a network.
 */
export async function debianTree(
  suite: string,
  packages: readonly string[],
  offered: readonly string[] = [],
): Promise<string> {
  const download = `chroot "$1" apt-get install -y --no-install-recommends --download-only ${offered.join(' ')}`
  const recipe = [
    '--variant=minbase',
    `--include=${packages.join(',')}`,
    ...(offered.length === 0 ? [] : ['--skip=cleanup/apt', `--customize-hook=${download}`]),
    suite,
  ]
  const tree = join(testCache(), `debian-${createHash('sha256').update(recipe.join('\n')).digest('hex').slice(0, 16)}`)
  if (existsSync(tree)) return tree
  const patience_s = String(TREE_MS_MAX / 2000)
  const locked = ['-w', patience_s, `${tree}.lock`, 'timeout', patience_s]
  const build = ['sh', '-c', BUILD, 'sh', tree, `${tree}.building`, ...recipe]
  const { exitCode, stderr } = await finished('flock', [...locked, ...build])
  if (exitCode !== 0) throw new Error(`no tree of ${suite} was built: ${stderr.slice(-2000)}`)
  return tree
}

/** Runs a program to its end; a failure is an exit code. */
export function finished(program: string, args: readonly string[]): Promise<Finished> {
  return new Promise((resolve) => {
    const child = execFile(program, args, { maxBuffer: OUTPUT_BYTES_MAX }, (error, stdout, stderr) => {
      resolve({ exitCode: error === null ? 0 : (child.exitCode ?? 1), stdout, stderr })
    })
  })
}
