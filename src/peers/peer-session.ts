import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { after } from '../base/after.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { HTTP2_OPTIONS, SESSION_WINDOW_BYTES } from './http2-options.ts'
import { closed, PeerError, type PeerErrorKind, whyOf } from './peer-error.ts'
import { type PeerCredentials, PROTOCOLS, secureOptionsOf, shownIn } from './peer-tls.ts'

/** Another node of the cluster, as the log describes it. */
export interface Peer {
  /** The node's display name. */
  readonly name: string
  readonly host: string
  readonly port: number
  /** Pin of the key that it presents. */
  readonly pin: string
}

/** In milliseconds. */
export interface Patience {
  /** From the first packet until the other node accepts requests. */
  readonly accept_ms: number
  readonly ping_ms: number
  /** A node that was silent for this long is lost. */
  readonly silent_ms: number
  /** The pause after the first failed attempt; each further failure doubles it. */
  readonly pause_min_ms: number
  readonly pause_max_ms: number
  /** The time after the last request for the node during which its session is renewed automatically. */
  readonly wanted_ms: number
}

/** The state of another node. */
export interface Liveness {
  readonly isReachable: boolean
  /** The time of the last sign of life; undefined when there was none yet. */
  readonly heard_ms: number | undefined
  /** Why the node is not reachable, as half a sentence; undefined also before its first use. */
  readonly why: string | undefined
}

export interface PeerSessionParts {
  readonly nodeId: string
  /** Returns undefined for a node that is not a member. Called often. */
  readonly peerOf: (nodeId: string) => Peer | undefined
  readonly credentials: () => PeerCredentials
  readonly patience: Patience
  readonly clock: Clock
  readonly log: Log
}

const BROKEN = 'its connection broke'

interface Open {
  readonly session: ClientHttp2Session
  readonly socket: TLSSocket
  readonly peer: Peer
  /** Ends pings and checks. */
  readonly rest: () => void
}

/** The one session with another node: opened on request, kept by pings, renewed while it is in use. */
export class PeerSession {
  /** Number of requests without a complete answer. */
  asked = 0
  readonly #parts: PeerSessionParts
  #open: Open | undefined
  #attempt: Promise<ClientHttp2Session> | undefined
  #giveUp: (error: PeerError) => void = () => undefined
  #forgetRetry: () => void = () => undefined
  #isClosed = false
  #isKept = false
  #name: string
  #wantedUntil_ms = Number.NEGATIVE_INFINITY
  #notBefore_ms = Number.NEGATIVE_INFINITY
  #pause_ms = 0
  #why: string | undefined
  /** By the wall clock. */
  #heard_ms: number | undefined
  #since_ms: number | undefined
  /** By the monotonic clock, which cannot be set. */
  #heardMonotonic_ms = 0
  #heard_bytes = 0

  constructor(parts: PeerSessionParts) {
    this.#parts = parts
    this.#name = parts.peerOf(parts.nodeId)?.name ?? parts.nodeId
  }

  get liveness(): Liveness {
    this.#want()
    return { isReachable: this.#open !== undefined, heard_ms: this.#heard_ms, why: this.#why }
  }

  /**
   * Returns a session that accepts requests now. In a pause between attempts it rejects at once: no request waits for a
   * node that was gone a moment ago.
   *
   * @throws {PeerError}
   */
  async session(): Promise<ClientHttp2Session> {
    if (this.#isClosed) throw closed()
    this.#want()
    if (this.#open !== undefined) return this.#open.session
    if (this.#attempt === undefined && this.#parts.clock.monotonic_ms() < this.#notBefore_ms) {
      throw this.error('unreachable')
    }
    return await this.#connect()
  }

  /** Returns the error in a sentence that names the node and the time since when. */
  error(kind: PeerErrorKind & ('unreachable' | 'lost')): PeerError {
    if (this.#isClosed) return closed()
    // Streams get the error before their session does.
    if (this.#open?.session.destroyed === true) this.#lose(BROKEN)
    const { nodeId } = this.#parts
    const since_ms = this.#since_ms ?? this.#heard_ms
    const since = since_ms === undefined ? '' : ` since ${new Date(since_ms).toISOString()}`
    const facts = { nodeId, ...(since_ms === undefined ? {} : { since_ms }) }
    if (kind === 'unreachable') {
      return new PeerError(kind, `The node ${this.#name} cannot be reached${since}: ${this.#why ?? BROKEN}`, facts)
    }
    const what = this.#why === undefined ? ' aborted its answer' : ` is lost${since}: ${this.#why}`
    const message = `The node ${this.#name}${what}; it is unknown whether the request was carried out`
    return new PeerError(kind, message, facts)
  }

  /** Opens the session now, if there is none. */
  keep(): void {
    this.#isKept = true
    this.#connectAlone()
  }

  /** Ends the session when the node is no longer a member, or its address or key has changed. */
  recheck(): void {
    const now = this.#parts.peerOf(this.#parts.nodeId)
    if (now !== undefined) this.#name = now.name
    if (this.#open === undefined || isSame(now, this.#open.peer)) return
    this.#lose(now === undefined ? 'it is no longer a member of the cluster' : 'its address or its key changed')
  }

  /** Closes the session for good. */
  close(): void {
    this.#isClosed = true
    this.#forgetRetry()
    this.#giveUp(closed())
    this.#end()
  }

  #want(): void {
    this.#wantedUntil_ms = this.#parts.clock.monotonic_ms() + this.#parts.patience.wanted_ms
  }

  #connect(): Promise<ClientHttp2Session> {
    this.#forgetRetry()
    this.#attempt ??= this.#attemptOnce().finally(() => (this.#attempt = undefined))
    return this.#attempt
  }

  async #attemptOnce(): Promise<ClientHttp2Session> {
    const { peerOf, nodeId, clock, patience } = this.#parts
    const peer = peerOf(nodeId)
    if (peer === undefined) {
      this.#why = 'it is not a member of the cluster'
      throw this.error('unreachable')
    }
    this.#name = peer.name
    this.#since_ms ??= this.#heard_ms ?? clock.now_ms()
    try {
      const { session, socket } = await this.#shakeHands(peer)
      this.#begin(session, socket, peer)
      return session
    } catch (error) {
      if (this.#isClosed) throw closed()
      this.#why = whyOf(error as Error)
      this.#pause_ms = Math.min(Math.max(this.#pause_ms * 2, patience.pause_min_ms), patience.pause_max_ms)
      this.#notBefore_ms = clock.monotonic_ms() + this.#pause_ms
      this.#retryLater()
      throw this.error('unreachable')
    }
  }

  #shakeHands(peer: Peer): Promise<{ readonly session: ClientHttp2Session; readonly socket: TLSSocket }> {
    const { nodeId, credentials, patience } = this.#parts
    const { accept_ms } = patience
    return new Promise((resolve, reject) => {
      const socket = connectTls({
        ...secureOptionsOf(credentials()),
        host: peer.host,
        port: peer.port,
        // The certificate is checked against the node, not against an address.
        servername: '',
        ALPNProtocols: [...PROTOCOLS],
        checkServerIdentity: (_, { raw }) => {
          const shown = shownIn(raw)
          if (shown?.nodeId === nodeId && shown.pin === peer.pin) return undefined
          return new PeerError('unreachable', 'another node answers there')
        },
      })
      const fail = (error: Error) => {
        forget()
        reject(error)
        socket.destroy()
      }
      this.#giveUp = fail
      const late = `it accepted no connection within ${accept_ms} ms`
      const forget = after(accept_ms, () => fail(new PeerError('unreachable', late)))
      socket.on('error', fail)
      socket.once('close', () => fail(new PeerError('unreachable', 'it closed the connection')))
      socket.once('secureConnect', () => {
        if (socket.alpnProtocol !== PROTOCOLS[0]) {
          fail(new PeerError('unreachable', 'the program that answers there is not a node'))
          return
        }
        const session = connectHttp2('https://peer', { ...HTTP2_OPTIONS, createConnection: () => socket })
        session.on('error', fail)
        // In TLS 1.3 a server checks the client's certificate last: only its settings show that it accepted it.
        session.once('remoteSettings', () => {
          forget()
          resolve({ session, socket })
        })
      })
    })
  }

  #begin(session: ClientHttp2Session, socket: TLSSocket, peer: Peer): void {
    const { patience, log, nodeId } = this.#parts
    session.setLocalWindowSize(SESSION_WINDOW_BYTES)
    session.once('goaway', () => this.#lose('it ended the session', session))
    session.once('close', () => this.#lose(BROKEN, session))
    // Before the session ends its streams, so that their errors have the reason.
    socket.prependOnceListener('close', () => this.#lose(BROKEN, session))
    const pings = setInterval(() => this.#ping(), patience.ping_ms).unref()
    let forgetLook: () => void = () => undefined
    const look = (wait_ms: number) => {
      forgetLook = after(wait_ms, () => {
        const left_ms = this.#silenceLeft_ms()
        if (left_ms > 0) look(left_ms)
        else this.#lose(`it did not answer for ${patience.silent_ms} ms`, session)
      })
    }
    const rest = () => {
      clearInterval(pings)
      forgetLook()
    }
    this.#open = { session, socket, peer, rest }
    this.#heard_bytes = 0
    this.#hear()
    this.#why = undefined
    this.#since_ms = undefined
    this.#pause_ms = 0
    look(patience.silent_ms)
    log.info('a peer is connected', { nodeId, name: peer.name })
  }

  #ping(): void {
    this.recheck()
    if (this.#open === undefined) return
    this.#silenceLeft_ms()
    // Returns false when too many pings are unanswered: silence is measured elsewhere.
    this.#open.session.ping((error) => {
      if (error === null) this.#hear()
    })
  }

  #hear(): void {
    this.#heard_ms = this.#parts.clock.now_ms()
    this.#heardMonotonic_ms = this.#parts.clock.monotonic_ms()
  }

  /** Any bytes since the last check are a sign of life: on a busy connection the answer to a ping waits behind them. */
  #silenceLeft_ms(): number {
    const bytes = this.#open?.socket.bytesRead ?? 0
    if (bytes !== this.#heard_bytes) this.#hear()
    this.#heard_bytes = bytes
    return this.#parts.patience.silent_ms - (this.#parts.clock.monotonic_ms() - this.#heardMonotonic_ms)
  }

  #lose(why: string, session = this.#open?.session): void {
    if (this.#open === undefined || this.#open.session !== session) return
    this.#why = why
    this.#since_ms = this.#heard_ms
    this.#end()
    const { log, nodeId } = this.#parts
    log.warn('a peer is lost', { nodeId, name: this.#name, why })
    if (!this.#isClosed) this.#retryLater()
  }

  #end(): void {
    const open = this.#open
    this.#open = undefined
    open?.rest()
    open?.session.destroy()
    open?.socket.destroy()
  }

  #retryLater(): void {
    this.#forgetRetry()
    const { clock, patience } = this.#parts
    const timer = setTimeout(
      () => {
        if (this.#isKept || clock.monotonic_ms() < this.#wantedUntil_ms) this.#connectAlone()
      },
      Math.max(this.#pause_ms, patience.pause_min_ms),
    ).unref()
    this.#forgetRetry = () => clearTimeout(timer)
  }

  /** Connects without a waiting caller; `liveness` shows the result. */
  #connectAlone(): void {
    if (this.#open !== undefined || this.#isClosed || this.#parts.peerOf(this.#parts.nodeId) === undefined) return
    this.#connect().catch(() => undefined)
  }
}

const isSame = (a: Peer | undefined, b: Peer) => a?.host === b.host && a.port === b.port && a.pin === b.pin
