import { setTimeout as sleep } from 'node:timers/promises'
import { infoField, parseShowProc, requestLine, toWorker } from '../../src/drivers/haproxy/cli.ts'
import { exchange } from '../archive/exchange.ts'
import { WorkerLines } from './worker-lines.ts'

const ANSWER_MS = 2_000
/** Together half a second. */
const TRIES = 20
const TRY_AGAIN_MS = 25
/** Old workers that are read at once. HAProxy's command socket has ten places. */
const OLD_MAX = 16

export interface LinesSource {
  readonly masterSocket: string
  readonly statsSocket: string
  readonly ring: string
}

export interface LinesIntake {
  line(text: string): void
  tooLong(): void
  /** The following lines of this process start at its oldest, so some may be repeated. */
  again(pid: number): void
  /** The pids of all existing processes. */
  processes(pids: ReadonlySet<number>): void
}

interface Session {
  readonly lines: WorkerLines
  /** Whether a line came since the last look. */
  isActive: boolean
  isIdle: boolean
}

/**
 * Reads the lines of HAProxy's processes: of the current worker, and of old ones until their last connection has ended.
 * An old worker does not end while it is read, so none of its lines is lost; HAProxy closes a session that is silent
 * for ten seconds, which is then opened again.
 */
export class HaproxyLines {
  readonly #source: LinesSource
  readonly #intake: LinesIntake
  readonly #sessions = new Map<number, Session>()
  /** Processes that need no further session: they have no ring, or send nothing more. */
  readonly #done = new Set<number>()
  #looking: Promise<void> | undefined
  #isHeard = false
  #isClosed = false

  constructor(source: LinesSource, intake: LinesIntake) {
    this.#source = source
    this.#intake = intake
  }

  /** Finds the processes. Never rejects: a HAProxy that does not answer is asked again at the next look. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch(() => undefined)
      .finally(() => (this.#looking = undefined))
    return this.#looking
  }

  /**
   * Resolves when the current worker is read, or could not be reached for half a second. A new worker shares its socket
   * with the one before it, which may answer there.
   */
  async listen(): Promise<void> {
    await this.#looking
    for (let tries = 0; tries < TRIES; tries++) {
      await this.look()
      if (this.#isHeard || this.#isClosed) return
      await sleep(TRY_AGAIN_MS)
    }
  }

  async #look(): Promise<void> {
    const { masterSocket } = this.#source
    this.#isHeard = false
    const processes = parseShowProc(await this.#ask('show proc'))
    if (processes === undefined || this.#isClosed) return
    const current = processes.workers[0]?.pid
    const old = processes.oldWorkers.map(({ pid }) => pid)
    const all = new Set(current === undefined ? old : [current, ...old])
    for (const pid of this.#done) if (!all.has(pid)) this.#done.delete(pid)
    this.#intake.processes(new Set([...all, ...this.#sessions.keys()]))
    if (current !== undefined && this.#isNew(current)) await this.#listen(this.#source.statsSocket, '', current)
    this.#isHeard = current !== undefined && !this.#isNew(current)
    for (const pid of old.slice(-OLD_MAX)) {
      if (this.#isNew(pid)) await this.#listen(masterSocket, toWorker({ pid }, ''), pid)
      else await this.#lookAtOld(pid)
    }
  }

  async #ask(command: string): Promise<string> {
    const answer = await exchange({ path: this.#source.masterSocket }, requestLine(command), ANSWER_MS)
    return Buffer.from(answer).toString('latin1')
  }

  #isNew(pid: number): boolean {
    return !this.#sessions.has(pid) && !this.#done.has(pid)
  }

  /**
   * Resolves when the process has identified itself, or has failed to do so in time, so that a hanging process does not
   * block the others. Another process may meanwhile listen at that path.
   */
  #listen(path: string, before: string, wanted: number): Promise<void> {
    return new Promise((resolve) => {
      let pid: number | undefined
      const late = setTimeout(() => lines.close(), ANSWER_MS)
      const lines = new WorkerLines(
        path,
        this.#source.ring,
        {
          begun: (info) => {
            clearTimeout(late)
            const told = Number(infoField(info, 'Pid'))
            if (told !== wanted || this.#isClosed) return lines.close()
            pid = told
            this.#sessions.set(pid, { lines, isActive: true, isIdle: false })
            this.#intake.again(pid)
            resolve()
          },
          line: (text) => {
            const session = this.#sessions.get(wanted)
            if (session !== undefined) session.isActive = true
            if (text === 'No such event sink') this.#done.add(wanted)
            else this.#intake.line(text)
          },
          tooLong: () => this.#intake.tooLong(),
          ended: () => {
            clearTimeout(late)
            if (pid !== undefined) this.#sessions.delete(pid)
            // An old worker may end before the next look.
            if (pid !== undefined && before !== '' && !this.#done.has(pid)) setImmediate(() => void this.look())
            resolve()
          },
        },
        before,
      )
    })
  }

  /** Releases an old worker when it had no connection at two looks, and sent no line in between. */
  async #lookAtOld(pid: number): Promise<void> {
    const session = this.#sessions.get(pid)
    if (session === undefined) return
    const info = await this.#ask(toWorker({ pid }, 'show info')).catch(() => '')
    const isIdle = infoField(info, 'CurrConns') === '0' && !session.isActive
    if (isIdle && session.isIdle) {
      this.#done.add(pid)
      session.lines.close()
    }
    session.isIdle = isIdle
    session.isActive = false
  }

  close(): void {
    this.#isClosed = true
    for (const { lines } of this.#sessions.values()) lines.close()
  }
}
