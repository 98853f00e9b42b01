import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { release } from 'node:os'
import { downloadBytes, parseInstallations, pendingPackages } from '../../src/drivers/apt/parse.ts'
import { suitesOf } from '../../src/drivers/apt/sources.ts'
import { compareVersions } from '../../src/drivers/apt/version.ts'
import type { PackageFacts, UpdateGround } from '../../src/model/software.ts'
import type { Run } from '../host/managed-program.ts'

const QUERY_TIMEOUT_MS = 60_000
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024
/** Only reads: needs neither a lock nor the right to write a cache. */
const SIMULATE = ['apt-get', '-qq', '--simulate', '-o', 'Debug::NoLocking=1', 'dist-upgrade'] as const
const PRINT = ['apt-get', '-qq', '--yes', '--print-uris', '-o', 'Debug::NoLocking=1', 'dist-upgrade'] as const
const LOCKS = ['/var/lib/dpkg/lock-frontend', '/var/lib/dpkg/lock', '/var/lib/apt/lists/lock'] as const
const SPACE = ['/', '/boot', '/var/cache/apt/archives'] as const
const APT = '/etc/apt'
/** Files and folders by which apt chooses versions, beside its sources. */
const CHOICES = ['preferences', 'preferences.d', 'apt.conf', 'apt.conf.d'] as const

/** Returns a text that changes when the packages, or what apt would choose of them, may have changed. */
export function packagesStamp(apt = APT): string {
  // A file that is edited in place leaves the time of its folder as it was.
  const choices = CHOICES.flatMap((name) => [`${apt}/${name}`, ...filesIn(`${apt}/${name}`)])
  const files = [...sourceFiles(apt), '/var/lib/apt/lists', '/var/lib/dpkg/status', ...choices]
  const ages = files.map((file) => `${file} ${existsSync(file) ? statSync(file).mtimeMs : ''}`)
  return createHash('sha256').update(ages.join('\n')).digest('hex')
}

/** Returns undefined when this machine has no apt. */
export async function readPackages(run: Run): Promise<PackageFacts | undefined> {
  const simulation = await run(SIMULATE, QUERY_TIMEOUT_MS, { output_max: OUTPUT_BYTES_MAX })
  if (simulation.exitCode === 127) return undefined
  if (simulation.exitCode !== 0) return { pending: [], problem: lastLine(simulation.output) }
  const wanted = parseInstallations(simulation.output).map(({ name, pendingVersion }) => `${name}=${pendingVersion}`)
  if (wanted.length === 0) return { pending: [], problem: undefined }
  const shown = await run(['apt-cache', 'show', ...wanted], QUERY_TIMEOUT_MS, { output_max: OUTPUT_BYTES_MAX })
  return { pending: pendingPackages(simulation.output, shown.output), problem: undefined }
}

const lastLine = (output: string) => output.trim().split('\n').at(-1) ?? ''

export async function readUpdateGround(run: Run): Promise<UpdateGround> {
  const { output } = await run(PRINT, QUERY_TIMEOUT_MS, { output_max: OUTPUT_BYTES_MAX })
  const locks = existsSync('/proc/locks') ? readFileSync('/proc/locks', 'utf8') : ''
  const free = SPACE.filter((path) => existsSync(path)).map((path) => {
    const { bavail, bsize } = statfsSync(path)
    return { path, bytes: bavail * bsize }
  })
  const sources = sourceFiles().map((file) => ({ file, suites: suitesOf(readFileSync(file, 'utf8'), file) }))
  return {
    lockedFile: LOCKS.find((file) => isLocked(file, locks)),
    download_bytes: downloadBytes(output),
    free,
    sources,
  }
}

/**
 * Lines of /proc/locks end in MAJOR:MINOR:INODE START END; on an overlay the device differs there, so only the inode
 * counts.
 */
function isLocked(file: string, locks: string): boolean {
  if (!existsSync(file)) return false
  return new RegExp(`^.* WRITE \\d+ \\w+:\\w+:${statSync(file).ino} `, 'm').test(locks)
}

function sourceFiles(apt = APT): readonly string[] {
  const sources = `${apt}/sources.list`
  const more = filesIn(`${sources}.d`).filter((file) => /\/[\w.+-]+\.(list|sources)$/.test(file))
  return [sources, ...more].filter((file) => existsSync(file))
}

function filesIn(folder: string): readonly string[] {
  const isFolder = existsSync(folder) && statSync(folder).isDirectory()
  return isFolder
    ? readdirSync(folder)
        .toSorted()
        .map((name) => `${folder}/${name}`)
    : []
}

export interface RestartPlaces {
  readonly flag: string
  readonly kernels: string
  readonly maps: string
  readonly kernel: string
}
const PLACES: RestartPlaces = {
  flag: '/run/reboot-required',
  kernels: '/boot',
  maps: '/proc/self/maps',
  kernel: release(),
}

/** Whether an update takes effect only after a restart: a new kernel, or files that this daemon runs from. */
export function isRestartRequired({ flag, kernels, maps, kernel }: RestartPlaces = PLACES): boolean {
  if (existsSync(flag)) return true
  const names = existsSync(kernels) ? readdirSync(kernels) : []
  const installed = names.filter((name) => name.startsWith('vmlinuz-')).map((name) => name.slice('vmlinuz-'.length))
  const flavour = (version: string) => version.replace(/^[\d.+~-]+/, '')
  const isNewer = (version: string) => flavour(version) === flavour(kernel) && compareVersions(version, kernel) > 0
  // Only if the running kernel is installed here: a container has the kernel of its host.
  if (installed.includes(kernel) && installed.some(isNewer)) return true
  return /^.* \/(?:usr|lib|opt)\/\S*(?:\.so[\d.]*|\.node|\/node) \(deleted\)$/m.test(readFileSync(maps, 'utf8'))
}
