import { open, rename, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { STATE_FILE } from '../../src/drivers/haproxy/paths.ts'
import type { RunResult, UnitState, UnitVerb } from '../../src/drivers/host.ts'
import { CarriedServers } from './carried-servers.ts'
import { readText, removeDurably, replaceFileDurably } from './durable-files.ts'
import type { Layer7ProxySettings } from './host-settings.ts'
import type { Detached, ManagedProgram, StartDetached } from './managed-program.ts'
import { answers, askProcesses, reloadThroughMaster, rouse, untilProcesses } from './master.ts'
import { areGone, commandLine, findProcesses, type FoundProcess } from './processes.ts'
import { findProgram, notInstalled } from './programs.ts'

type Settings = Extract<Layer7ProxySettings, { mode: 'supervised' }>

const LOG_BYTES_MAX = 4 * 1024 * 1024
const LOG_TAIL_BYTES = 16 * 1024
/** On SIGTERM HAProxy drops its connections and ends; if it takes longer than this, it hangs. */
const STOP_PATIENCE_MS = 5_000
const KILLED_GONE_MS = 10_000

/**
 * HAProxy where systemd does not run it: started in its own session, so that it outlives the daemon, and recognised by
 * its master socket and command line, or by its command line alone when its files are gone.
 */
export class SupervisedProgram implements ManagedProgram {
  readonly #settings: Settings
  readonly #startDetached: StartDetached
  readonly #pidFile: string
  readonly #logFile: string
  readonly #carried: CarriedServers

  constructor(settings: Settings, startDetached: StartDetached) {
    this.#settings = settings
    this.#startDetached = startDetached
    this.#pidFile = `${settings.folder}/haproxy.pid`
    this.#logFile = `${settings.folder}/haproxy.log`
    this.#carried = new CarriedServers({ ...settings, stateFile: `${settings.folder}/${STATE_FILE}` })
  }

  async perform(verb: UnitVerb, timeout_ms: number): Promise<RunResult> {
    const pid = await this.#pid()
    if (verb === 'start' || (verb === 'reload' && pid === undefined)) return this.#start(pid, timeout_ms)
    const signal = async () => {
      this.#signal(pid, 'SIGUSR2')
      if (pid !== undefined) await this.#record(pid)
    }
    if (verb === 'reload' && (await rouse(this.#settings.masterSocket, timeout_ms, signal)))
      return this.#reload(timeout_ms)
    const stopped = await this.#stop(timeout_ms)
    if (verb === 'stop' || stopped.exitCode !== 0) return stopped
    const started = await this.#start(undefined, timeout_ms)
    return started.exitCode === 0 ? { exitCode: 0, output: stopped.output } : started
  }

  async state(): Promise<UnitState> {
    if ((await this.#pid()) !== undefined) return (await answers(this.#settings.masterSocket)) ? 'running' : 'silent'
    if ((await findProgram(this.#settings.program)) === undefined) return 'missing'
    // The pid file exists, so HAProxy was started and was not asked to stop.
    return (await readText(this.#pidFile)) === undefined ? 'stopped' : 'failed'
  }

  /** Returns the pid of our master: from the master itself, from the file, or from the process list. */
  async #pid(): Promise<number | undefined> {
    const processes = await askProcesses(this.#settings.masterSocket)
    if (processes !== undefined && this.#isOurs(processes.master.pid)) return processes.master.pid
    const recorded = Number(await readText(this.#pidFile))
    if (recorded > 0 && this.#isOurs(recorded)) return recorded
    const ours = this.#all()
    return ours.find(({ parent }) => !ours.some(({ pid }) => pid === parent))?.pid
  }

  /** Returns master and workers, including old ones. */
  #all(): readonly FoundProcess[] {
    return findProcesses((words) => this.#fits(words))
  }

  /** The kernel reuses pids, so before any signal the command line must name our configuration. */
  #isOurs(pid: number): boolean {
    return this.#fits(commandLine(pid))
  }

  #fits(words: readonly string[]): boolean {
    return words.includes(this.#settings.configFile) && words.includes(`${this.#settings.masterSocket},mode,600`)
  }

  #signal(pid: number | undefined, signal: NodeJS.Signals): void {
    if (pid === undefined || !this.#isOurs(pid)) return
    try {
      process.kill(pid, signal)
    } catch {
      // The process ended at the same moment.
    }
  }

  async #start(running: number | undefined, timeout_ms: number): Promise<RunResult> {
    if (running !== undefined) return { exitCode: 0, output: '' }
    const { configFile, folder, masterSocket } = this.#settings
    const program = await findProgram(this.#settings.program)
    if (program === undefined) return notInstalled(this.#settings.program)
    await this.#rotateLog()
    const logStart_bytes = await this.#logSize()
    await this.#carried.forget()
    const namesake = (await askProcesses(masterSocket))?.master.pid
    const argv = [program, '-W', '-S', `${masterSocket},mode,600`, '-f', configFile]
    const started = await this.#startDetached(argv, { folder, logFile: this.#logFile })
    await this.#record(started.pid)
    const outcome = await this.#awaitWorker(started, timeout_ms)
    if (outcome === undefined) {
      await this.#retire(namesake)
      return { exitCode: 0, output: '' }
    }
    await removeDurably(this.#pidFile)
    return { exitCode: outcome.exitCode, output: `${outcome.output}\n${await this.#logSince(logStart_bytes)}`.trim() }
  }

  /**
   * Asks an older HAProxy of this folder to finish. One with another path in its command line was started before the
   * folder was renamed: it serves our ports and would reload from the old path, so it finishes its connections and
   * accepts no new ones.
   */
  async #retire(pid: number | undefined): Promise<void> {
    if (pid === undefined) return
    const words = commandLine(pid)
    if (!words.some((word) => word.endsWith(`/${basename(this.#settings.masterSocket)},mode,600`))) return
    try {
      process.kill(pid, 'SIGUSR1')
    } catch {
      // The process ended at the same moment.
    }
  }

  /** Stores the pid. A full disk does not keep HAProxy from serving: it is also found by its command line. */
  async #record(pid: number): Promise<void> {
    try {
      await replaceFileDurably(this.#pidFile, `${pid}\n`, 0o600)
    } catch {
      // The file is only needed to distinguish a crash from a stop.
    }
  }

  /** Returns undefined when a worker serves; otherwise the problem. */
  async #awaitWorker(started: Detached, timeout_ms: number): Promise<RunResult | undefined> {
    let ended: string | undefined
    void started.ended.then((how) => (ended = how))
    const served = await untilProcesses(this.#settings.masterSocket, timeout_ms, (now) => {
      if (ended !== undefined) return 'ended'
      return now?.master.pid === started.pid && now.workers.length > 0 ? 'serves' : undefined
    })
    if (served === 'serves') return undefined
    if (served === 'ended') return { exitCode: 1, output: `HAProxy did not start: ${ended ?? ''}` }
    this.#signal(started.pid, 'SIGTERM')
    return { exitCode: 124, output: `HAProxy did not start within ${timeout_ms} ms` }
  }

  async #stop(timeout_ms: number): Promise<RunResult> {
    const patience_ms = Math.min(timeout_ms, STOP_PATIENCE_MS)
    let output = ''
    const pids = this.#all().map(({ pid }) => pid)
    for (const pid of pids) this.#signal(pid, 'SIGTERM')
    if (!(await areGone(pids, () => this.#all(), patience_ms))) {
      output = `HAProxy did not stop within ${patience_ms} ms and was killed`
      for (const { pid } of this.#all()) this.#signal(pid, 'SIGKILL')
      const isOver = await areGone(pids, () => this.#all(), KILLED_GONE_MS)
      if (!isOver) return { exitCode: 124, output: `${output}, but is still running` }
    }
    await removeDurably(this.#pidFile)
    return { exitCode: 0, output }
  }

  async #reload(timeout_ms: number): Promise<RunResult> {
    const logStart_bytes = await this.#logSize()
    const log = () => this.#logSince(logStart_bytes)
    return this.#carried.over(() => reloadThroughMaster(this.#settings.masterSocket, timeout_ms, log))
  }

  async #logSize(): Promise<number> {
    try {
      return (await stat(this.#logFile)).size
    } catch {
      // There is no log before the first start.
      return 0
    }
  }

  async #logSince(start_bytes: number): Promise<string> {
    try {
      const file = await open(this.#logFile, 'r')
      try {
        const { size } = await file.stat()
        const from = Math.max(start_bytes, size - LOG_TAIL_BYTES)
        const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.max(0, size - from)), 0, size - from, from)
        return buffer.toString('utf8', 0, bytesRead).trim()
      } finally {
        await file.close()
      }
    } catch {
      return ''
    }
  }

  /** Rotates only at a start, because a running HAProxy keeps the file open. */
  async #rotateLog(): Promise<void> {
    if ((await this.#logSize()) > LOG_BYTES_MAX) await rename(this.#logFile, `${this.#logFile}.1`)
  }
}
