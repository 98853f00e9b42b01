import type { Socket } from 'node:net'
import { requestLine } from '../../src/drivers/haproxy/cli.ts'
import { connectTo, exchange } from './exchange.ts'
import type { SocketTarget } from './messages.ts'
import { type ProcessAnswer, readAnswer } from './process-answer.ts'

/** A process that serves for less than this may be missed. */
const LOOK_EVERY_MS = 250
/**
 * HAProxy takes ten sessions on its command socket (`stats maxconn`), and others need some. The poll itself is one
 * more.
 */
const PLACES_MAX = 6
/** How many the current process has over each poll: one to ask when it was replaced, and one to hear it out. */
const KEPT = 2
/** After so long without a complaint there may be one place more again. */
const PLACE_EVERY_MS = 60_000
/** HAProxy closes a session after ten seconds of silence (`stats timeout`), and polls come each second. */
const SILENT_MS_MAX = 8_000
/** A session is spent by asking on it, so none is asked when the rest of the poll's time is shorter than this. */
const ASK_MS_MIN = 100
/** Processes that are held at once; beyond that the first ones are let go. */
const HELD_MAX = 64
/** Longer than any session with a process lives after it was let go. */
const FINISHED_MS_MAX = 30_000

interface Session {
  readonly socket: Socket
  readonly opened_ms: number
}

/** A process that was replaced, with the sessions that hold it: each of them can be asked once. Oldest first. */
interface Replaced {
  sessions: Session[]
  asked_ms: number | undefined
  isDone: boolean
}

function close(sessions: readonly Session[]): void {
  for (const { socket } of sessions) socket.destroy()
}

/** When it is asked again: its sessions are spread over the time that they last. */
function dueAt_ms({ sessions, asked_ms }: Replaced, last_ms: number): number {
  return asked_ms === undefined ? 0 : Math.min(last_ms, asked_ms + (last_ms - asked_ms) / sessions.length)
}

/**
 * Sessions with the processes of a HAProxy that somebody else configures. A process that is replaced lives as long as
 * it has one, and answers on it. Nothing may be said before: only `show` commands are sent, and HAProxy ends such a
 * session with its first answer. So a new one is opened four times a second, and closed when it was not needed.
 */
export class SilentSessions {
  #target: SocketTarget | undefined
  /** With the process that answered the last poll. */
  #kept: Session[] = []
  /** Opened since then: oldest first, like all of them. */
  #recent: Session[] = []
  readonly #replaced = new Map<number, Replaced>()
  /** When processes told their last figures. What one of them says later was counted, or is nobody's any more. */
  readonly #finished = new Map<number, number>()
  /** The process that answered the last poll. */
  #pid: number | undefined
  #answers = new Map<number, ProcessAnswer>()
  #until_ms = 0
  #places = PLACES_MAX
  #placesSince_ms = 0

  constructor() {
    // A stop of the daemon does not wait for it.
    setInterval(() => this.#look(), LOOK_EVERY_MS).unref()
  }

  /** Processes that were replaced and will be asked again. */
  get pids(): readonly number[] {
    return [...this.#replaced.keys()]
  }

  /**
   * HAProxy did not answer, or refused the question, maybe because these sessions have taken all places of its socket.
   * It is also silent while it reloads: those that were kept then hold the process that goes, and are given back only
   * when it stays silent.
   */
  yieldPlaces(): void {
    this.#places = Math.floor(this.#places / 2)
    this.#placesSince_ms = performance.now()
    close([...this.#kept.splice(0, this.#kept.length - this.#places), ...this.#recent.splice(0)])
  }

  #look(): void {
    if (this.#target === undefined || this.#kept.length + this.#recent.length >= this.#places) return
    const session = { socket: connectTo(this.#target), opened_ms: performance.now() }
    // It is read, so that its end is noticed.
    session.socket.unref().resume()
    session.socket.on('error', () => session.socket.destroy())
    session.socket.on('close', () => {
      this.#recent = this.#recent.filter((one) => one !== session)
      this.#kept = this.#kept.filter((one) => one !== session)
    })
    this.#recent.push(session)
  }

  /**
   * What replaced processes tell. Called after the process `pid` has answered a poll; `target` is the processes' own
   * socket, where it is known.
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
    // Two that listen at the same moment may have answered in either order.
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
   * Finds out whose these sessions are. They were opened after `before` had answered and before `after` did. Few have
   * to be asked for that: processes follow each other, so what lies between two sessions with one process is with the
   * same.
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

  /** Asks the process behind a session, and answers which one it is. */
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
