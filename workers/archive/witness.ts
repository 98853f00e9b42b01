import { connect, type Socket } from 'node:net'
import { after } from '../../src/base/after.ts'
import { defer, type Deferred } from '../../src/base/deferred.ts'
import { infoField } from '../../src/drivers/haproxy/cli.ts'
import { joinChunks } from './exchange.ts'

const PROMPT = Buffer.from('\n> ')
/** A worker that owes an answer for this long hangs; HAProxy closes a session that is silent for as long. */
const OWED_MS_MAX = 10_000
/** How long a question waits for an answer that the worker still owes: the poll has other processes to ask. */
const OWED_WAIT_MS = 50

type Heard = Uint8Array<ArrayBuffer> | undefined

interface Asked {
  readonly chunks: Uint8Array[]
  length: number
  readonly since_ms: number
  readonly answer: Deferred<Heard>
}

/** Resolves with the answer, or with undefined after `timeout_ms`. */
function inTime(answer: Promise<Heard>, timeout_ms: number): Promise<Heard> {
  return new Promise((resolve) => {
    const cancel = after(timeout_ms, () => resolve(undefined))
    void answer.then(resolve).finally(cancel)
  })
}

/**
 * A session that stays open with one worker, on the worker's own socket because the master's sessions end when it
 * reloads. HAProxy adds the bytes of a connection to its counters when the connection ends, and an old worker exits
 * with its last connection, before those counters could be read. An open session delays the exit; HAProxy closes one
 * that is silent for ten seconds.
 */
export class Witness {
  readonly #socket: Socket
  #asked: Asked | undefined
  #isOpen = true

  constructor(path: string) {
    this.#socket = connect(path)
    // The session must not keep a stopping daemon alive.
    this.#socket.unref()
    this.#socket.on('data', (chunk) => this.#received(chunk))
    this.#socket.on('error', () => this.close())
    this.#socket.on('close', () => this.close())
  }

  /** Opens a session with the worker that listens on the socket now; `undefined` when that is another process. */
  static async open(path: string, pid: number, timeout_ms: number): Promise<Witness | undefined> {
    const witness = new Witness(path)
    const greeted = await witness.ask('prompt', timeout_ms)
    const info = greeted === undefined ? undefined : await witness.ask('show info', timeout_ms)
    if (info !== undefined && Number(infoField(Buffer.from(info).toString(), 'Pid')) === pid) return witness
    witness.close()
    return undefined
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /**
   * Resolves with the answer to one command, including the empty line at its end; `undefined` on a timeout. The session
   * then stays open, as the worker must live: the next question waits for the late answer, which is dropped.
   */
  async ask(command: string, timeout_ms: number): Promise<Heard> {
    const asked_ms = performance.now()
    if (this.#asked !== undefined) {
      if (asked_ms - this.#asked.since_ms > OWED_MS_MAX) this.close()
      else await inTime(this.#asked.answer.promise, Math.min(timeout_ms, OWED_WAIT_MS))
    }
    if (!this.#isOpen || this.#asked !== undefined) return undefined
    const answer = defer<Heard>()
    this.#asked = { chunks: [], length: 0, since_ms: asked_ms, answer }
    this.#socket.write(`${command}\n`)
    return inTime(answer.promise, timeout_ms - (performance.now() - asked_ms))
  }

  #received(chunk: Uint8Array): void {
    const asked = this.#asked
    if (asked === undefined) return
    asked.chunks.push(chunk)
    asked.length += chunk.length
    // The prompt may arrive byte by byte.
    const last = Buffer.concat(asked.chunks.slice(-PROMPT.length).map((part) => part.subarray(-PROMPT.length)))
    if (!last.subarray(-PROMPT.length).equals(PROMPT)) return
    const all = joinChunks(asked.chunks, asked.length)
    this.#answer(all.subarray(0, asked.length - PROMPT.length + 1))
  }

  #answer(answer: Heard): void {
    const asked = this.#asked
    this.#asked = undefined
    asked?.answer.resolve(answer)
  }

  /** Releases the worker. */
  close(): void {
    this.#isOpen = false
    this.#socket.destroy()
    this.#answer(undefined)
  }
}
