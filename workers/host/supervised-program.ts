import { open, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { carriedState, NO_STATE } from '../../src/drivers/haproxy/carried-state.ts'
import { STATE_FILE } from '../../src/drivers/haproxy/paths.ts'
import type { RunResult, UnitState, UnitVerb } from '../../src/drivers/host.ts'
import { sendCommand } from './control-socket.ts'
import { readText, removeDurably, replaceFileDurably } from './durable-files.ts'
import type { Layer7ProxySettings } from './host-settings.ts'
import type { Detached, ManagedProgram, StartDetached } from './managed-program.ts'
import { askProcesses, reloadThroughMaster, untilProcesses } from './master.ts'
import { findProgram, notInstalled } from './programs.ts'

type Settings = Extract<Layer7ProxySettings, { mode: 'supervised' }>

/** `show servers state` of 100,000 servers takes 0.15 s. */
const STATE_TIMEOUT_MS = 1_000
const LOG_BYTES_MAX = 4 * 1024 * 1024
const LOG_TAIL_BYTES = 16 * 1024
const POLL_MS = 10

/**
 * HAProxy where no systemd looks after it: started in a session of its own, so that it outlives the daemon, and
 * recognised again by its master socket and command line.
 */
export class SupervisedProgram implements ManagedProgram {
  readonly #settings: Settings
  readonly #startDetached: StartDetached
  readonly #pidFile: string
  readonly #logFile: string
  readonly #stateFile: string

  constructor(settings: Settings, startDetached: StartDetached) {
    this.#settings = settings
    this.#startDetached = startDetached
    this.#pidFile = `${settings.folder}/haproxy.pid`
    this.#logFile = `${settings.folder}/haproxy.log`
    this.#stateFile = `${settings.folder}/${STATE_FILE}`
  }

  async perform(verb: UnitVerb, timeout_ms: number): Promise<RunResult> {
    if (verb === 'start') return this.#start(timeout_ms)
    if (verb === 'reload' && (await this.#pid()) !== undefined) return this.#reload(timeout_ms)
    if (verb === 'reload') return this.#start(timeout_ms)
    const stopped = await this.#stop(timeout_ms)
    return verb === 'stop' || stopped.exitCode !== 0 ? stopped : this.#start(timeout_ms)
  }

  async state(): Promise<UnitState> {
    if ((await this.#pid()) !== undefined) return 'running'
    if ((await findProgram(this.#settings.program)) === undefined) return 'missing'
    // The file says that it was started, and nobody asked it to stop.
    return (await readText(this.#pidFile)) === undefined ? 'stopped' : 'failed'
  }

  /** The pid of our master: from the master itself, or from the file when it does not answer but still runs. */
  async #pid(): Promise<number | undefined> {
    const processes = await askProcesses(this.#settings.masterSocket)
    if (processes !== undefined && (await this.#isOurs(processes.master.pid))) return processes.master.pid
    const recorded = Number(await readText(this.#pidFile))
    return recorded > 0 && (await this.#isOurs(recorded)) ? recorded : undefined
  }

  /** Pids are used again by the kernel: before any signal the command line has to name our configuration. */
  async #isOurs(pid: number): Promise<boolean> {
    try {
      const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0')
      return words.includes(this.#settings.configFile) && words.includes(`${this.#settings.masterSocket},mode,600`)
    } catch {
      // No such process any more.
      return false
    }
  }

  async #start(timeout_ms: number): Promise<RunResult> {
    if ((await this.#pid()) !== undefined) return { exitCode: 0, output: '' }
    const { configFile, folder, masterSocket } = this.#settings
    const program = await findProgram(this.#settings.program)
    if (program === undefined) return notInstalled(this.#settings.program)
    await this.#rotateLog()
    const logStart_bytes = await this.#logSize()
    await writeFile(this.#stateFile, NO_STATE, { mode: 0o600 })
    const argv = [program, '-W', '-S', `${masterSocket},mode,600`, '-f', configFile]
    const started = await this.#startDetached(argv, { folder, logFile: this.#logFile })
    await replaceFileDurably(this.#pidFile, `${started.pid}\n`, 0o600)
    const outcome = await this.#awaitWorker(started, timeout_ms)
    if (outcome === undefined) return { exitCode: 0, output: '' }
    await removeDurably(this.#pidFile)
    return { exitCode: outcome.exitCode, output: `${outcome.output}\n${await this.#logSince(logStart_bytes)}`.trim() }
  }

  /** undefined when a worker serves; else what went wrong. */
  async #awaitWorker(started: Detached, timeout_ms: number): Promise<RunResult | undefined> {
    let ended: string | undefined
    void started.ended.then((how) => (ended = how))
    const served = await untilProcesses(this.#settings.masterSocket, timeout_ms, (now) => {
      if (ended !== undefined) return 'ended'
      return now?.master.pid === started.pid && now.workers.length > 0 ? 'serves' : undefined
    })
    if (served === 'serves') return undefined
    if (served === 'ended') return { exitCode: 1, output: `HAProxy did not start: ${ended ?? ''}` }
    if (await this.#isOurs(started.pid)) process.kill(started.pid, 'SIGTERM')
    return { exitCode: 124, output: `HAProxy did not start within ${timeout_ms} ms` }
  }

  async #stop(timeout_ms: number): Promise<RunResult> {
    const pid = await this.#pid()
    if (pid !== undefined) {
      process.kill(pid, 'SIGTERM')
      const deadline_ms = performance.now() + timeout_ms
      while (await this.#isOurs(pid)) {
        if (performance.now() > deadline_ms) {
          return { exitCode: 124, output: `HAProxy (pid ${pid}) did not stop within ${timeout_ms} ms` }
        }
        await wait(POLL_MS)
      }
    }
    await removeDurably(this.#pidFile)
    return { exitCode: 0, output: '' }
  }

  async #reload(timeout_ms: number): Promise<RunResult> {
    const logStart_bytes = await this.#logSize()
    await this.#carryState()
    try {
      return await reloadThroughMaster(this.#settings.masterSocket, timeout_ms, () => this.#logSince(logStart_bytes))
    } finally {
      // Old news would mislead a HAProxy that starts later.
      await writeFile(this.#stateFile, NO_STATE, { mode: 0o600 })
    }
  }

  /** The new worker learns which servers are down, or a reload would send them traffic until their next check. */
  async #carryState(): Promise<void> {
    const { configFile, masterSocket } = this.#settings
    try {
      const table = await sendCommand(masterSocket, '@1 show servers state', STATE_TIMEOUT_MS)
      await writeFile(this.#stateFile, carriedState(table, (await readText(configFile)) ?? ''), { mode: 0o600 })
    } catch {
      // A worker that does not answer is the more reason to reload; the new one finds out by its checks.
    }
  }

  async #logSize(): Promise<number> {
    try {
      return (await stat(this.#logFile)).size
    } catch {
      // No log before the first start.
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

  /** Only at a start, because a running HAProxy keeps the file open. */
  async #rotateLog(): Promise<void> {
    if ((await this.#logSize()) > LOG_BYTES_MAX) await rename(this.#logFile, `${this.#logFile}.1`)
  }
}
