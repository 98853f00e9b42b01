import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Finished {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

/** The code name of the Debian that runs this test. */
export function hostSuite(): string {
  return /^VERSION_CODENAME=(\w+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'bookworm'
}

/**
 * The root folder of a minimal Debian with these packages; built once and kept under a name that its recipe decides.
 * What is `offered` is downloaded as well, with all that it needs: it can be installed without a network.
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
  const cache = join(tmpdir(), 'fulcrum-test-cache')
  const tree = join(cache, `debian-${createHash('sha256').update(recipe.join('\n')).digest('hex').slice(0, 16)}`)
  if (existsSync(tree)) return tree
  mkdirSync(cache, { recursive: true, mode: 0o700 })
  const building = mkdtempSync(join(cache, 'building-'))
  const target = join(building, 'tree')
  const built = await finished('mmdebstrap', [...recipe, target])
  try {
    if (built.exitCode !== 0) throw new Error(`mmdebstrap failed: ${built.stderr.slice(-2000)}`)
    if (!existsSync(tree)) renameSync(target, tree)
  } finally {
    rmSync(building, { recursive: true, force: true })
  }
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
