import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { checkServerIdentity } from '../../src/base/server-identity.ts'

const CONNECT_MS = 10_000
/** A server that accepts nothing for this long is down. */
const STALL_MS = 30_000
const KEEP_ALIVE_MS = 15_000
const CLOSE_MS = 1_000
/** How long to wait for a rejection after connecting: in TLS 1.3 a server judges the client certificate last. */
const SETTLE_MS = 1_000
/** Messages sent this shortly before the end may not have arrived. */
const UNCERTAIN_MS = 2_000
/** Messages within this time are noted as one entry. */
const NOTED_MS = 100
/** Upper bound for the buffers of both machines, when the server has stopped reading or vanished silently. */
const BUFFERS_BYTES = 16 * 1024 * 1024

/** Address of a syslog server, and the TLS identities of both sides. */
export interface SyslogAddress {
  readonly host: string
  readonly port: number
  readonly tls: TlsSettings | undefined
  /** Resolves the host; without it the machine's resolver is used. */
  readonly lookup?: LookupFunction
}

export interface TlsSettings {
  /** PEM; undefined for the public roots. */
  readonly ca: string | undefined
  /** PEM of the client certificate chain and its key. */
  readonly own: { readonly cert: string; readonly key: string } | undefined
}

/** Framed messages as ASCII. */
export interface Chunk {
  readonly text: string
  readonly messages: number
}

export interface ChunkTaker {
  /** Returns the next chunk to send. */
  next(): Chunk | undefined
  /** Called when the server accepts messages. */
  ready(): void
  /**
   * Called at the end. It is unknown whether `uncertain` messages arrived. `hung`: the server had stopped reading, or
   * vanished.
   */
  ended(reason: string, uncertain: number, hung: boolean): void
}

/** One connection to a syslog server. */
export class SyslogConnection {
  readonly #taker: ChunkTaker
  readonly #socket: Socket | undefined
  readonly #ended: Promise<void>
  #timer: NodeJS.Timeout | undefined
  #isReady = false
  #isEnded = false
  #writing: Chunk | undefined
  /** Messages handed to the socket, with the time. */
  #handed: { readonly at_ms: number; messages: number; bytes: number }[] = []
  #handed_bytes = 0

  constructor(address: SyslogAddress, taker: ChunkTaker) {
    this.#taker = taker
    let resolve = () => {}
    this.#ended = new Promise((ended) => (resolve = ended))
    let failure: NodeJS.ErrnoException | undefined
    try {
      const socket = open(address, () => this.#settle())
      this.#socket = socket
      this.#timer = setTimeout(() => socket.destroy(new Error('it does not answer')), CONNECT_MS)
      socket.setKeepAlive(true, KEEP_ALIVE_MS)
      socket.on('error', (error) => (failure = error))
      // The server sends nothing, but reading notices its end.
      socket.resume()
      socket.on('close', () => {
        resolve()
        this.#end(failure)
      })
    } catch (error) {
      // A backup may bring certificates that were never parsed.
      failure = error instanceof Error ? error : new Error(String(error))
      resolve()
      setImmediate(() => this.#end(failure))
    }
  }

  get isReady(): boolean {
    return this.#isReady
  }

  #settle(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#isReady = true
      this.#taker.ready()
      this.wake()
    }, SETTLE_MS)
  }

  /** Sends if there is something to send. */
  wake(): void {
    const socket = this.#socket
    if (!this.#isReady || this.#isEnded || this.#writing !== undefined || socket === undefined) return
    const chunk = this.#taker.next()
    if (chunk === undefined) return
    this.#writing = chunk
    this.#timer = setTimeout(() => socket.destroy(new Error('it accepts no more data')), STALL_MS)
    socket.write(chunk.text, 'latin1', (error) => {
      clearTimeout(this.#timer)
      if (error !== undefined && error !== null) return
      this.#note(chunk)
      this.#writing = undefined
      this.wake()
    })
  }

  #note({ text, messages }: Chunk): void {
    const at_ms = performance.now()
    const last = this.#handed.at(-1)
    if (last !== undefined && at_ms - last.at_ms < NOTED_MS) {
      last.messages += messages
      last.bytes += text.length
    } else this.#handed.push({ at_ms, messages, bytes: text.length })
    this.#handed_bytes += text.length
    for (let [first] = this.#handed; first !== undefined; [first] = this.#handed) {
      if (this.#handed_bytes - first.bytes < BUFFERS_BYTES) break
      this.#handed_bytes -= first.bytes
      this.#handed.shift()
    }
  }

  #end(failure: NodeJS.ErrnoException | undefined): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#isReady = false
    clearTimeout(this.#timer)
    // After a write that was not accepted, the buffers are full.
    const areFull = this.#writing !== undefined || failure?.code === 'ETIMEDOUT'
    const since_ms = areFull ? 0 : performance.now() - UNCERTAIN_MS
    const handed = this.#handed.reduce((sum, { at_ms, messages }) => (at_ms < since_ms ? sum : sum + messages), 0)
    const reason = failure?.message ?? 'it has closed the connection'
    this.#taker.ended(reason, handed + (this.#writing?.messages ?? 0), areFull)
  }

  /** Closes after sending what the socket already has. The fate of the current write is unknown. */
  async close(): Promise<void> {
    if (!this.#isEnded) {
      this.#isEnded = true
      this.#isReady = false
      clearTimeout(this.#timer)
      this.#taker.ended('', this.#writing?.messages ?? 0, false)
      this.#socket?.end()
      this.#timer = setTimeout(() => this.#socket?.destroy(), CLOSE_MS)
    }
    await this.#ended
    clearTimeout(this.#timer)
  }
}

function open({ host, port, tls, lookup }: SyslogAddress, connected: () => void): Socket {
  const own = lookup === undefined ? {} : { lookup }
  if (tls === undefined) return connect({ host, port, ...own }, connected)
  return connectTls(
    {
      host,
      port,
      minVersion: 'TLSv1.2',
      checkServerIdentity,
      ...own,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(tls.ca === undefined ? {} : { ca: tls.ca }),
      ...tls.own,
    },
    connected,
  )
}
