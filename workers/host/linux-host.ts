import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, open, readFile } from 'node:fs/promises'
import type {
  AccountChange,
  DesiredNetwork,
  Host,
  KeptOutput,
  KeptValues,
  Listener,
  NetworkOutcome,
  NetworkPhase,
  Outside,
  RunResult,
  Setting,
  UnitName,
  UnitState,
  UnitVerb,
} from '../../src/drivers/host.ts'
import { PROGRAMS } from '../../src/drivers/programs.ts'
import { readInterfaces } from '../probe/interfaces.ts'
import { changeAccount, hasLoginShell } from './accounts.ts'
import { CarriedServers } from './carried-servers.ts'
import { bareStart } from './bare-start.ts'
import { sendCommand } from './control-socket.ts'
import { fileNames, readText, removeDurably, renameDurably, replaceFileDurably } from './durable-files.ts'
import type { HostSettings, Layer7ProxySettings } from './host-settings.ts'
import { KeyValueFile } from './key-value-file.ts'
import type { ManagedProgram, RunOptions, StartDetached } from './managed-program.ts'
import { keepFile } from './kept-file.ts'
import { KernelNetwork } from './network/kernel-network.ts'
import { networkFile } from './network/memory.ts'
import { LISTENERS_ARGV, NOT_PERMITTED, portProblem, readListeners } from './port-probe.ts'
import { findProgram, notInstalled, PROGRAM_FOLDERS } from './programs.ts'
import { readSetting, writeSetting } from './machine-settings.ts'
import { SupervisedEtcd } from './supervised-etcd.ts'
import { SupervisedProgram } from './supervised-program.ts'
import { SystemdService } from './systemd-service.ts'
import { SystemdUnit } from './systemd-unit.ts'

const OUTPUT_BYTES_MAX = 64 * 1024
const LISTENERS_TIMEOUT_MS = 5_000
const GIVE_TIMEOUT_MS = 10_000
const OUTSIDE_GRACE_MS = 1_000
const JUDGED_BYTES_MAX = 64 * 1024 * 1024
/** Nothing of the daemon's own environment, which may hold secrets, is passed to another program. */
const ENVIRONMENT = { LC_ALL: 'C', PATH: PROGRAM_FOLDERS.join(':') }

/** The real machine. */
export class LinuxHost implements Host {
  readonly #mode: Layer7ProxySettings['mode']
  /** Programs that systemd does not run, or that do not reload through their unit. */
  readonly #own: Partial<Record<UnitName, ManagedProgram>>
  readonly #network: KernelNetwork
  readonly found: KeptValues
  readonly recorded = 0

  /** `folder` stores the facts that must be remembered about the machine. */
  constructor({ layer7proxy, etcd }: Pick<HostSettings, 'layer7proxy' | 'etcd'>, folder: string) {
    this.found = new KeyValueFile(`${folder}/found.json`)
    this.#network = new KernelNetwork(networkFile(folder), runProgram)
    this.#mode = layer7proxy.mode
    this.#own = {
      layer7proxy:
        layer7proxy.mode === 'systemd'
          ? systemdHaproxy(layer7proxy)
          : new SupervisedProgram(layer7proxy, startDetached),
      // etcd notifies systemd only once it has a quorum. Plans must not wait for that, because they run one at a time.
      etcd:
        etcd === undefined
          ? new SystemdService(PROGRAMS.etcd.unit, runProgram, { waitsForStart: false })
          : new SupervisedEtcd(etcd, startDetached),
    }
  }

  #program(name: UnitName): ManagedProgram {
    return this.#own[name] ?? new SystemdService(PROGRAMS[name].unit, runProgram)
  }

  run(argv: readonly string[], timeout_ms: number, outside?: Outside, kept?: KeptOutput): Promise<RunResult> {
    const output_max = kept === 'all' ? JUDGED_BYTES_MAX : OUTPUT_BYTES_MAX
    return runProgram(argv, timeout_ms, {
      output_max,
      ...(outside === undefined ? {} : { isUnconfined: true, ...outside }),
    })
  }
  async missingProgram(name: string): Promise<RunResult | undefined> {
    return (await findProgram(name)) === undefined ? notInstalled(name) : undefined
  }
  readFile(path: string): Promise<string | undefined> {
    return readText(path)
  }
  replaceFile(path: string, content: string, mode: number): Promise<void> {
    return replaceFileDurably(path, content, mode)
  }
  renameFile(from: string, to: string): Promise<void> {
    return renameDurably(from, to)
  }
  removeFile(path: string): Promise<void> {
    return removeDurably(path)
  }
  async copyFile(from: string, to: string, mode: number): Promise<void> {
    return replaceFileDurably(to, await readFile(from), mode)
  }
  keepFile(path: string): Promise<() => Promise<void>> {
    return keepFile(path, give)
  }
  listFiles(folder: string): Promise<readonly string[]> {
    return fileNames(folder)
  }
  async portProblem(ip: string, port: number): Promise<string | undefined> {
    const problem = await portProblem(ip, port)
    // HAProxy under systemd may bind ports that the daemon may not.
    return problem === NOT_PERMITTED && this.#mode === 'systemd' ? undefined : problem
  }
  async listeners(): Promise<readonly Listener[]> {
    if (this.#mode !== 'systemd') return []
    const { exitCode, output } = await runProgram(LISTENERS_ARGV, LISTENERS_TIMEOUT_MS, {
      output_max: JUDGED_BYTES_MAX,
    })
    return exitCode === 0 ? readListeners(output) : []
  }
  unit(name: UnitName, verb: UnitVerb, timeout_ms: number): Promise<RunResult> {
    return this.#program(name).perform(verb, timeout_ms)
  }
  unitState(name: UnitName): Promise<UnitState> {
    return this.#program(name).state()
  }
  socket(path: string, request: string, timeout_ms: number, payload?: string): Promise<string> {
    return sendCommand(path, request, timeout_ms, payload)
  }
  readSetting(setting: Setting): Promise<string | undefined> {
    return readSetting(setting, runProgram)
  }
  writeSetting(setting: Setting, value: string, timeout_ms: number): Promise<RunResult> {
    return writeSetting(setting, value, runProgram, timeout_ms)
  }
  async interfaceNames(): Promise<ReadonlyMap<string, string>> {
    const interfaces = await readInterfaces(runProgram)
    return new Map(interfaces.map(({ id, name }) => [id, name]))
  }
  network(desired: DesiredNetwork, phase: NetworkPhase, timeout_ms: number): Promise<NetworkOutcome> {
    return this.#network.make(desired, phase, timeout_ms)
  }
  account(change: AccountChange, timeout_ms: number): Promise<RunResult> {
    return changeAccount(change, runProgram, timeout_ms)
  }
  hasShell(account: AccountChange['account']): Promise<boolean | undefined> {
    return hasLoginShell(account)
  }
}

function systemdHaproxy({ masterSocket, carried }: Extract<Layer7ProxySettings, { mode: 'systemd' }>): SystemdUnit {
  const servers = carried === undefined ? undefined : new CarriedServers({ masterSocket, ...carried })
  return new SystemdUnit(PROGRAMS.layer7proxy.unit, masterSocket, runProgram, servers)
}

/** Runs a program in its own process group, so that a deadline ends its children as well. */
export async function runProgram(
  argv: readonly string[],
  timeout_ms: number,
  { input, isUnconfined = false, runtimeDirectory, output_max = OUTPUT_BYTES_MAX }: RunOptions = {},
): Promise<RunResult> {
  const [name = ''] = argv
  const wanted = await findProgram(name)
  if (wanted === undefined) return notInstalled(name)
  const [first = '', ...others] = [
    ...(isUnconfined ? transientUnit(runtimeDirectory, timeout_ms) : []),
    wanted,
    ...argv.slice(1),
  ]
  const [program, args] = bareStart(first, others)
  return new Promise((resolve) => {
    const child = spawn(program, args, { detached: true, env: ENVIRONMENT, stdio: ['pipe', 'pipe', 'pipe'] })
    // If no descriptors are left, the child has no streams, and fails a moment later. A program that does not read its
    // input is no failure.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(input)
    const chunks: Buffer[] = []
    let bytes = 0
    const keep = (chunk: Buffer): void => {
      if (bytes < output_max) chunks.push(chunk.subarray(0, output_max - bytes))
      bytes += chunk.length
    }
    const finish = (exitCode: number, note: string): void => {
      clearTimeout(timer)
      child.stdout?.destroy()
      child.stderr?.destroy()
      const cut = bytes > output_max ? `\n(${bytes - output_max} more bytes)` : ''
      resolve({ exitCode, output: `${Buffer.concat(chunks).toString('utf8').trimEnd()}${cut}${note}`.trim() })
    }
    const timer = setTimeout(() => {
      killGroup(child.pid)
      finish(124, `\n${name} did not end within ${timeout_ms} ms and was killed`)
    }, timeout_ms)
    child.stdout?.on('data', keep)
    child.stderr?.on('data', keep)
    child.on('error', (error) => finish(126, error.message))
    child.on('close', (code, signal) => finish(code ?? 128, signal === null ? '' : `\n${name} was ended by ${signal}`))
  })
}

/**
 * The daemon's unit may not write to the system, so under systemd such programs run in their own unit. They are no
 * child processes of the daemon, so systemd ends them as well, a little after the waiting client.
 */
function transientUnit(runtimeDirectory: string | undefined, timeout_ms: number): readonly string[] {
  if (!existsSync('/run/systemd/system')) return []
  const longest_ms = Math.ceil(Math.max(timeout_ms, 0)) + OUTSIDE_GRACE_MS
  const deadline = [`--property=RuntimeMaxSec=${longest_ms}ms`, '--property=KillSignal=SIGKILL']
  const folder = [`--property=RuntimeDirectory=${runtimeDirectory}`, '--property=RuntimeDirectoryPreserve=yes']
  const properties = runtimeDirectory === undefined ? [] : folder
  return ['/usr/bin/systemd-run', '--quiet', '--collect', '--wait', '--pipe', ...deadline, ...properties]
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The process group ended at the same moment.
  }
}

/** Runs outside, because the daemon's unit may not change owners. */
async function give(owner: string, path: string): Promise<void> {
  const { exitCode, output } = await runProgram(['chown', owner, path], GIVE_TIMEOUT_MS, { isUnconfined: true })
  if (exitCode !== 0) throw new Error(output)
}

const startDetached: StartDetached = async (argv, { folder, logFile, environment }) => {
  const [first = '', ...others] = argv
  const [program, args] = bareStart(first, others)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const log = await open(logFile, 'a', 0o600)
  try {
    const stdio = ['ignore', log.fd, log.fd] as const
    // A program cannot be reloaded once its working directory was removed: HAProxy asks for its name.
    const env = { ...ENVIRONMENT, ...environment }
    const child = spawn(program, args, { cwd: '/', detached: true, env, stdio: [...stdio] })
    const ended = new Promise<string>((resolve) => {
      child.on('error', (error) => resolve(error.message))
      child.on('exit', (code, signal) => resolve(signal === null ? `exit code ${code}` : `ended by ${signal}`))
    })
    child.unref()
    if (child.pid === undefined) throw new Error(`${first} could not be started: ${await ended}`)
    return { pid: child.pid, ended }
  } finally {
    await log.close()
  }
}
