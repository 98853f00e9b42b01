import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { after } from '../../src/base/after.ts'
import { NOBODY_LISTENS } from '../../src/drivers/haproxy/cli.ts'
import type { SocketTarget } from './messages.ts'

/**
 * A refused connection is retried for most of a second: during a reload the master closes its socket for some
 * milliseconds, on a busy machine for half a second; and a process with several clients has places again as soon as it
 * accepts the waiting ones.
 */
const RETRIES = 30
const RETRY_PAUSE_MS = 25
/** 20,000 objects are 5 MB, the archive's cap of 50,000 is less than 40 MB with the widest rows. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** The accept queue is full: a Unix socket refuses the next connection at once. */
const NO_PLACE = 'EAGAIN'
const FAILURES: Readonly<Record<string, string>> = {
  ...NOBODY_LISTENS,
  [NO_PLACE]: 'its socket accepts no more connections',
  EACCES: 'this user may not open its socket',
  EPERM: 'this user may not open its socket',
}

class ExchangeError extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** The deadline passed. The other side may still be working on the answer. */
export class UnansweredError extends ExchangeError {
  /** Part of the answer arrived. */
  readonly hasBegun: boolean
  /** Resolves when the other side has closed the connection and thus finished with the question. */
  readonly ended: Promise<void>
  constructor(message: string, hasBegun: boolean, ended: Promise<void>) {
    super('TIMEOUT', message)
    this.hasBegun = hasBegun
    this.ended = ended
  }
}

/** Whether the accept queue of the other side was full. */
export const hadNoPlace = (error: unknown): boolean => error instanceof ExchangeError && error.code === NO_PLACE

/** Whether nothing listens on the other side. */
export const isAbsent = (error: unknown): boolean => error instanceof ExchangeError && error.code in NOBODY_LISTENS

/** Joins the chunks into one buffer. */
export function joinChunks(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  // Not a slice of Node's pool, because the buffer is moved to the main thread.
  const all = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

export function connectTo(target: SocketTarget): Socket {
  return 'path' in target ? connect(target.path) : connect(target.port, target.host)
}

/**
 * Sends one request and resolves with the whole answer, on a new connection or on an open one that has not been used.
 * Rejects with a sentence about HAProxy ("it …", "its …").
 */
export function exchange(
  target: SocketTarget,
  request: string,
  timeout_ms: number,
  socket: Socket = connectTo(target),
): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let length = 0
    const fail = (code: string, message: string): void => {
      cancel()
      socket.destroy()
      reject(new ExchangeError(code, message))
    }
    const cancel = after(timeout_ms, () => {
      const message = `it did not answer within ${Math.round(timeout_ms)} ms`
      reject(new UnansweredError(message, length > 0, abandoned(socket, 'path' in target)))
    })
    socket.on('data', (chunk: Uint8Array) => {
      chunks.push(chunk)
      length += chunk.length
      if (length > ANSWER_BYTES_MAX) fail('TOO_LARGE', 'its answer is too large')
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const code = error.code ?? 'ERROR'
      fail(code, FAILURES[code] ?? `its socket failed (${code})`)
    })
    socket.on('end', () => {
      cancel()
      socket.destroy()
      resolve(joinChunks(chunks, length))
    })
    // Half-closed after the request: the master otherwise waits for the next command instead of ending the session.
    socket.end(request)
  })
}

/**
 * HAProxy's master keeps a question to a hanging worker open even if its client has gone; it has ten places for
 * clients, and then answers no client. So the connection stays open, and its end shows that the place is free again.
 * Over TCP the other side may have vanished silently.
 */
function abandoned(socket: Socket, isLocal: boolean): Promise<void> {
  socket.removeAllListeners('data').removeAllListeners('end').resume()
  const ended = new Promise<void>((resolve) => {
    socket.once('close', () => resolve())
  })
  if (isLocal) socket.unref()
  else socket.destroy()
  return ended
}

/** Like `exchange`, but retries for a moment while the connection is refused. */
export async function exchangeWithRetry(
  target: SocketTarget,
  request: string,
  deadline_ms: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const started = performance.now()
  // Counts tries instead of milliseconds: on a stalled machine, the other side had no time to listen again.
  for (let tries = 0; ; tries++) {
    const passed = performance.now() - started
    try {
      return await exchange(target, request, Math.max(1, deadline_ms - passed))
    } catch (error) {
      const isRefused = isAbsent(error) || hadNoPlace(error)
      if (!isRefused || tries === RETRIES || performance.now() - started > deadline_ms) throw error
      await sleep(RETRY_PAUSE_MS)
    }
  }
}
