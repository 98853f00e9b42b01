import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { debianTree, type Finished, finished, hostSuite } from './debian-tree.ts'
import { until } from '../fixtures/until.ts'

/** A folder of the host, visible inside and read-only. */
export interface Bind {
  readonly host: string
  readonly inside: string
}

/** A Debian machine with its own systemd, network and clock rights removed; gone without a trace after `stop`. */
export interface Container {
  /** Runs a program inside; a failure is in the result and is not thrown. */
  run(...argv: readonly string[]): Promise<Finished>
  /** Starts a program of the host inside the container's network only. */
  inNetwork(...argv: readonly string[]): Promise<Finished>
  /** Starts a program inside that runs until the container stops. */
  start(...argv: readonly string[]): ChildProcess
  stop(): Promise<void>
  /** File of its network namespace, for others to enter. */
  readonly network: string
  /**
   * How the machine went down on its own: 0 after a shutdown, 133 for a restart, which a supervisor would carry out.
   */
  readonly ended: Promise<number | null>
}

/** The programs that an appliance drives, and the dependencies of Fulcrum's package. */
const PACKAGES = `systemd systemd-sysv dbus apt procps haproxy keepalived iproute2 iputils-ping iputils-arping
  openssh-server chrony snmpd bubblewrap curl kmod libstdc++6 openssl passwd etcd-server`.split(/\s+/)
const PROGRAMS = ['systemd-nspawn', 'mmdebstrap', 'nsenter', 'unshare', 'setpriv', 'curl'] as const
// The overlay lives in its own mount namespace and ends with its last process. If this process dies, SIGTERM makes
// systemd-nspawn power the machine off.
const MOUNT = `mount -t overlay overlay -o lowerdir="$1",upperdir="$2/upper",workdir="$2/work" "$2/root" && echo $$ >"$3/cgroup.procs" && shift 3 && exec "$@"`
const IN_OVERLAY = ['--pdeathsig', 'TERM', 'unshare', '-m', 'sh', '-c', MOUNT, 'sh'] as const
const NSPAWN = [
  'systemd-nspawn',
  '--quiet',
  '--register=no',
  '--keep-unit',
  '--private-network',
  '--hostname=node1',
  '--console=pipe',
  '--drop-capability=CAP_SYS_TIME',
] as const
const BOOT_MS_MAX = 300_000

/** Root folder from which containers start. It is never changed. */
export const containerTree = (): Promise<string> => debianTree(hostSuite(), PACKAGES)

/** Returns why no container can be started here, or undefined. */
export function containerObstacle(): string | undefined {
  if (process.getuid?.() !== 0) return 'needs root'
  const missing = PROGRAMS.filter((name) => !isOnPath(name))
  if (missing.length > 0) return `not installed: ${missing.join(', ')}`
  if (spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status !== 0) return 'may not mount'
  return undefined
}

export async function startContainer(
  binds: readonly Bind[],
  of: () => Promise<string> = containerTree,
): Promise<Container> {
  const tree = await of()
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-container-'))
  for (const name of ['upper', 'work', 'root']) mkdirSync(join(folder, name))
  const root = join(folder, 'root')
  const [unified, ...others] = controlGroups()
  const group = mkdtempSync(join(unified, 'fulcrum-container-'))
  const nspawn = spawn(
    'setpriv',
    [
      ...IN_OVERLAY,
      tree,
      folder,
      group,
      ...NSPAWN,
      '-D',
      root,
      ...binds.map(({ host, inside }) => `--bind-ro=${host}:${inside}`),
      '-b',
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '1' } },
  )
  const console: string[] = []
  for (const stream of [nspawn.stdout, nspawn.stderr]) stream.on('data', (text) => console.push(String(text)))

  const ended = once(nspawn, 'exit').then(() => nspawn.exitCode)
  let leader: string | undefined
  const stop = async () => {
    const isRunning = nspawn.exitCode === null && nspawn.signalCode === null
    // The machine ends with its first process; systemd-nspawn follows.
    if (leader !== undefined && isRunning) process.kill(Number(leader), 'SIGKILL')
    else nspawn.kill('SIGTERM')
    if (isRunning) await ended
    rmSync(folder, { recursive: true, force: true })
    for (const above of [unified, ...others]) await removeGroup(join(above, basename(group)))
  }
  try {
    leader = await booted(nspawn)
    const first = leader
    const enter = [
      '-t',
      first,
      '-r',
      '-w',
      '-m',
      '-u',
      '-i',
      '-n',
      '-p',
      '-C',
      '--',
      'env',
      '-i',
      'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
      'LC_ALL=C',
    ]
    return {
      run: (...argv) => finished('nsenter', [...enter, ...argv]),
      inNetwork: (...argv) => finished('nsenter', ['-t', first, '-n', '--', ...argv]),
      start: (...argv) => spawn('nsenter', [...enter, ...argv], { stdio: 'ignore' }),
      stop,
      network: `/proc/${first}/ns/net`,
      ended,
    }
  } catch (error) {
    await stop()
    throw new Error(`the container did not start: ${console.join('').slice(-2000)}`, { cause: error })
  }
}

/**
 * Place of this process in the hierarchies of control groups that systemd knows, the unified one first. Each container
 * has its own group below: systemd-nspawn would put all of them into the same group, and a unit of one would not end
 * before the same unit of the others.
 */
function controlGroups(): readonly [string, ...string[]] {
  const path = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1]
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n')
  const roots = (is: (type: string, options: string) => boolean) =>
    mounts.flatMap((line) => {
      const [, root = '', type = '', options = ''] = line.split(' ')
      return is(type, options) ? [join(root, path ?? '')] : []
    })
  const [unified] = roots((type) => type === 'cgroup2')
  if (path === undefined || unified === undefined) throw new Error('there is no unified hierarchy of control groups')
  return [unified, ...roots((type, options) => type === 'cgroup' && options.split(',').includes('name=systemd'))]
}

/** The processes of the group have ended, or are about to. */
async function removeGroup(group: string): Promise<void> {
  if (!existsSync(group)) return
  for (const entry of readdirSync(group, { withFileTypes: true }))
    if (entry.isDirectory()) await removeGroup(join(group, entry.name))
  await until(`an empty ${group}`, () => readFileSync(join(group, 'cgroup.procs'), 'utf8') === '')
  rmdirSync(group)
}

/** Returns the process id of the container's systemd once its start-up jobs are done. */
async function booted(nspawn: ChildProcess): Promise<string> {
  const deadline = performance.now() + BOOT_MS_MAX
  while (performance.now() < deadline && nspawn.exitCode === null) {
    const leader = readFileSync(`/proc/${nspawn.pid}/task/${nspawn.pid}/children`, 'utf8').trim().split(' ')[0]
    if (leader !== undefined && leader !== '') {
      const state = await finished('nsenter', [
        '-t',
        leader,
        '-r',
        '-w',
        '-m',
        '-p',
        '-C',
        '--',
        'systemctl',
        'is-system-running',
        '--wait',
      ])
      if (['running', 'degraded'].includes(state.stdout.trim())) return leader
    }
    await sleep(50)
  }
  throw new Error(nspawn.exitCode === null ? 'no answer from systemd' : `systemd-nspawn ended with ${nspawn.exitCode}`)
}

function isOnPath(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
