import type { Socket } from 'node:net'
import { requestLine } from '../../src/drivers/haproxy/cli.ts'
import { connectTo, exchange } from './exchange.ts'
import type { SocketTarget } from './messages.ts'
import { type ProcessAnswer, readAnswer } from './process-answer.ts'

/** A process that serves for less than this may be missed. */
const LOOK_EVERY_MS = 250
/**
 * Sessions that may be open besides the poll's own. HAProxy accepts ten on its command socket (`stats maxconn`), and
 * other clients need some.
 */
const PLACES_MAX = 6
/** Sessions kept with the current process over each poll: one to ask when it was replaced, one for its last figures. */
const KEPT = 2
/** After this long without a complaint, one more place may be used. */
const PLACE_EVERY_MS = 60_000
/** HAProxy closes a session after ten seconds of silence (`stats timeout`), and polls come each second. */
const SILENT_MS_MAX = 8_000
/** Minimum time to ask in. A session can be asked only once, so none is asked when less of the poll's time is left. */
const ASK_MS_MIN = 100
/** Replaced processes held at once; beyond that the oldest are released. */
const HELD_MAX = 64
/** Longer than a process lives after its last session was closed. */
const FINISHED_MS_MAX = 30_000

interface Session {
  readonly socket: Socket
  readonly opened_ms: number
}

/** A process that was replaced, with the sessions that hold it, oldest first. Each session can be asked once. */
interface Replaced {
  sessions: Session[]
  asked_ms: number | undefined
  isDone: boolean
}

function close(sessions: readonly Session[]): void {
  for (const { socket } of sessions) socket.destroy()
}

/** Returns when to ask the process again: its sessions are spread over the time that they last. */
function dueAt_ms({ sessions, asked_ms }: Replaced, last_ms: number): number {
  return asked_ms === undefined ? 0 : Math.min(last_ms, asked_ms + (last_ms - asked_ms) / sessions.length)
}

/**
 * Sessions with the processes of a HAProxy that something else configures. A replaced process lives while it has one,
 * and answers on it. Nothing may be sent before it is needed: only `show` commands are sent, and HAProxy closes such a
 * session after its first answer. So a new one is opened four times a second, and closed if it was not needed.
 */
export class SilentSessions {
  #target: SocketTarget | undefined
  /** Sessions with the process that answered the last poll. */
  #kept: Session[] = []
  /** Sessions opened since the last poll; oldest first, as everywhere here. */
  #recent: Session[] = []
  readonly #replaced = new Map<number, Replaced>()
  /**
   * The time at which each process reported its last figures. Later figures of it are ignored, because they were
   * counted already or belong to no process.
   */
  readonly #finished = new Map<number, number>()
  /** The process that answered the last poll. */
  #pid: number | undefined
  #answers = new Map<number, ProcessAnswer>()
  #until_ms = 0
  #places = PLACES_MAX
  #placesSince_ms = 0

  constructor() {
    // The timer must not keep a stopping daemon alive.
    setInterval(() => this.#look(), LOOK_EVERY_MS).unref()
  }

  /** Processes that were replaced and will be asked again. */
  get pids(): readonly number[] {
    return [...this.#replaced.keys()]
  }

  /**
   * Gives up sessions because HAProxy did not answer or refused the question, perhaps because they occupy all places of
   * its socket. HAProxy is also silent while it reloads: the kept sessions then hold the ending process, and are given
   * up only if the silence lasts.
   */
  yieldPlaces(): void {
    this.#places = Math.floor(this.#places / 2)
    this.#placesSince_ms = performance.now()
    close([...this.#kept.splice(0, this.#kept.length - this.#places), ...this.#recent.splice(0)])
  }

  #look(): void {
    if (this.#target === undefined || this.#kept.length + this.#recent.length >= this.#places) return
    const session = { socket: connectTo(this.#target), opened_ms: performance.now() }
    // Reading notices when the session ends.
    session.socket.unref().resume()
    session.socket.on('error', () => session.socket.destroy())
    session.socket.on('close', () => {
      this.#recent = this.#recent.filter((one) => one !== session)
      this.#kept = this.#kept.filter((one) => one !== session)
    })
    this.#recent.push(session)
  }

  /**
   * Returns the answers of replaced processes. Called after the process `pid` has answered a poll; `target` is the
   * processes' own socket, where it is known.
   */
  async poll(target: SocketTarget | undefined, pid: number, timeout_ms: number): Promise<readonly ProcessAnswer[]> {
    const now_ms = performance.now()
    this.#target = target
    this.#until_ms = now_ms + timeout_ms
    this.#answers = new Map()
    if (this.#places < PLACES_MAX && now_ms - this.#placesSince_ms > PLACE_EVERY_MS) {
      this.#places++
      this.#placesSince_ms = now_ms
    }
    // Two processes that listen at the same moment may have answered in either order.
    close(this.#replaced.get(pid)?.sessions ?? [])
    this.#replaced.delete(pid)
    const before = this.#pid ?? pid
    this.#pid = pid
    this.#keep(before, this.#kept.splice(0))
    await this.#sort(this.#recent.splice(0), before, pid)
    await this.#askAgain()
    this.#letGo()
    return [...this.#answers.values()]
  }

  /**
   * Finds out which process each session belongs to. All were opened after `before` answered and before `after` did.
   * Few must be asked: processes follow each other, so sessions between two with the same process belong to it.
   */
  async #sort(sessions: readonly Session[], before: number, after: number): Promise<void> {
    const middle = sessions.length >> 1
    const session = sessions[middle]
    if (session === undefined) return
    if (before === after || !this.#hasTime) return this.#keep(before, sessions)
    const pid = await this.#ask(session)
    if (pid === undefined) return this.#sort(sessions.toSpliced(middle, 1), before, after)
    await this.#sort(sessions.slice(0, middle), before, pid)
    await this.#sort(sessions.slice(middle + 1), pid, after)
  }

  #keep(pid: number, sessions: readonly Session[]): void {
    if (pid === this.#pid) {
      const all = [...this.#kept, ...sessions].toSorted((one, other) => one.opened_ms - other.opened_ms)
      close(all.slice(0, -KEPT))
      this.#kept = all.slice(-KEPT)
    } else if (this.#finished.has(pid)) close(sessions)
    else this.#held(pid).sessions.push(...sessions)
  }

  #held(pid: number): Replaced {
    const held = this.#replaced.get(pid) ?? { sessions: [], asked_ms: undefined, isDone: false }
    this.#replaced.set(pid, held)
    return held
  }

  /** Asks the process behind a session and returns its pid. */
  async #ask({ socket }: Session): Promise<number | undefined> {
    if (this.#target === undefined || socket.destroyed || socket.readableEnded) return undefined
    const left_ms = Math.max(1, this.#until_ms - performance.now())
    const request = requestLine('show info', 'show stat')
    const bytes = await exchange(this.#target, request, left_ms, socket).catch(() => undefined)
    const answer = bytes === undefined ? undefined : readAnswer(bytes)
    if (answer === undefined || answer.pid === this.#pid || this.#finished.has(answer.pid)) return answer?.pid
    const held = this.#held(answer.pid)
    held.asked_ms = performance.now()
    held.isDone = answer.isDone
    this.#answers.set(answer.pid, answer)
    return answer.pid
  }

  get #hasTime(): boolean {
    return performance.now() + ASK_MS_MIN < this.#until_ms
  }

  async #askAgain(): Promise<void> {
    for (const held of this.#replaced.values()) {
      held.sessions = held.sessions.filter(({ socket }) => !socket.destroyed)
      const [oldest] = held.sessions
      if (!this.#hasTime || held.isDone || oldest === undefined) continue
      if (performance.now() < dueAt_ms(held, oldest.opened_ms + SILENT_MS_MAX)) continue
      held.sessions.shift()
      await this.#ask(oldest)
    }
  }

  #letGo(): void {
    const now_ms = performance.now()
    for (const [pid, { sessions, isDone }] of this.#replaced) {
      if (!isDone && sessions.length > 0 && this.#replaced.size <= HELD_MAX) continue
      close(sessions)
      this.#replaced.delete(pid)
      this.#finished.set(pid, now_ms)
    }
    for (const [pid, at_ms] of this.#finished) if (now_ms - at_ms > FINISHED_MS_MAX) this.#finished.delete(pid)
  }
}
