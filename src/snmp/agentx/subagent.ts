import { createConnection, type Socket } from 'node:net'
import type { Log } from '../../base/log.ts'
import { answerTo, type Mib } from './answer.ts'
import { Malformed, type Oid } from './bytes.ts'
import {
  closePdu,
  ERROR,
  type Header,
  HEADER_BYTES,
  openPdu,
  type Pdu,
  pingPdu,
  readHeader,
  readPdu,
  registerPdu,
  responsePdu,
} from './pdu.ts'

export interface SubagentOptions {
  /** Unix socket of the master agent. */
  readonly path: string
  readonly subtree: Oid
  readonly description: string
  readonly mib: Mib
  readonly log: Pick<Log, 'info' | 'warn'>
}

const RETRY_MS_MIN = 500
const RETRY_MS_MAX = 15_000
/** The interval of the pings that detect a master that is stuck with an open socket. */
const PING_EVERY_MS = 30_000
/** The master's time limit for an answer. */
const ANSWER_S = 5
const UNSENT_BYTES_MAX = 4 * 2 ** 20

/** Offers one subtree to a master agent (RFC 2741) as long as one runs, and again when it comes back. */
export class Subagent {
  readonly #options: SubagentOptions
  #socket: Socket | undefined
  #timer: NodeJS.Timeout | undefined
  #received: Buffer = Buffer.alloc(0)
  #sessionId: number | undefined
  #packetId = 0
  /** The request that waits for its answer. */
  #asked: 'open' | 'register' | 'ping' | undefined
  #retry_ms = RETRY_MS_MIN
  #isStopped = true

  constructor(options: SubagentOptions) {
    this.#options = options
  }

  start(): void {
    if (!this.#isStopped) return
    this.#isStopped = false
    this.#connect()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
    const [socket, session] = [this.#socket, this.#sessionId]
    if (session !== undefined) socket?.write(closePdu(session, ++this.#packetId))
    socket?.destroySoon()
    this.#forget()
  }

  #forget(): void {
    this.#socket = undefined
    this.#sessionId = undefined
    this.#asked = undefined
    this.#received = Buffer.alloc(0)
  }

  #connect(): void {
    const socket = createConnection(this.#options.path)
    this.#socket = socket
    socket.unref()
    socket.on('connect', () => {
      this.#ask('open', openPdu(++this.#packetId, ANSWER_S, this.#options.description))
      this.#watch()
    })
    socket.on('data', (bytes) => this.#take(socket, bytes))
    // The close event follows.
    socket.on('error', () => undefined)
    socket.on('close', () => this.#lost(socket))
  }

  /** Reconnects, later each time until a master has accepted the subtree. */
  #lost(socket: Socket): void {
    if (this.#socket !== socket) return
    if (this.#sessionId !== undefined) this.#options.log.info('the SNMP agent has disconnected')
    this.#forget()
    clearTimeout(this.#timer)
    if (this.#isStopped) return
    this.#timer = setTimeout(() => this.#connect(), this.#retry_ms).unref()
    this.#retry_ms = Math.min(this.#retry_ms * 2, RETRY_MS_MAX)
  }

  #ask(what: 'open' | 'register' | 'ping', pdu: Buffer): void {
    this.#asked = what
    this.#socket?.write(pdu)
  }

  #watch(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      if (this.#asked !== undefined || this.#sessionId === undefined) this.#socket?.destroy()
      else this.#ask('ping', pingPdu(this.#sessionId, ++this.#packetId))
      this.#watch()
    }, PING_EVERY_MS).unref()
  }

  #take(socket: Socket, bytes: Buffer): void {
    if (this.#socket !== socket) return
    this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes])
    try {
      for (;;) {
        const header = readHeader(this.#received)
        const end = HEADER_BYTES + (header?.payloadBytes ?? 0)
        if (header === undefined || this.#received.length < end) break
        const payload = this.#received.subarray(HEADER_BYTES, end)
        this.#received = this.#received.subarray(end)
        this.#handle(socket, header, payload)
      }
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      this.#options.log.warn('the SNMP agent does not speak AgentX', { reason: error.message })
      socket.destroy()
    }
    if (socket.writableLength > UNSENT_BYTES_MAX) socket.destroy()
  }

  #handle(socket: Socket, header: Header, payload: Buffer): void {
    let pdu: Pdu
    try {
      pdu = readPdu(header, payload)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      socket.write(responsePdu(header, ERROR.parseError, 0, []))
      return
    }
    if (pdu.kind === 'response') this.#answered(header, pdu.error)
    else if (pdu.kind === 'close') socket.end()
    else {
      const answer = this.#answerTo(header, pdu)
      if (answer !== undefined) socket.write(answer)
    }
  }

  /** Answers a request; a defect affects only that answer, never the daemon. */
  #answerTo(header: Header, pdu: Pdu): Buffer | undefined {
    try {
      return answerTo(header, pdu, this.#options.mib)
    } catch (error) {
      this.#options.log.warn('an SNMP request failed', { reason: String(error) })
      return responsePdu(header, ERROR.genErr, 0, [])
    }
  }

  #answered({ sessionId, packetId }: Header, error: number): void {
    const asked = this.#asked
    if (asked === undefined || packetId !== this.#packetId) return
    this.#asked = undefined
    if (error !== ERROR.none) {
      this.#options.log.warn('the SNMP agent refused a request', { request: asked, error })
      this.#socket?.destroy()
    } else if (asked === 'open') {
      this.#sessionId = sessionId
      this.#ask('register', registerPdu(sessionId, ++this.#packetId, this.#options.subtree))
    } else if (asked === 'register') {
      this.#retry_ms = RETRY_MS_MIN
      this.#options.log.info('the SNMP agent serves the figures')
    }
  }
}
