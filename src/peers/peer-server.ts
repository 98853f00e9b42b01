import { performServerHandshake, type ServerHttp2Session } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { type Log, strangersLog } from '../base/log.ts'
import { answerStream, type PeerHandler } from './answering.ts'
import { Entrance, type EntranceBounds } from './entrance.ts'
import { HTTP2_OPTIONS, SESSION_WINDOW_BYTES } from './http2-options.ts'
import { type PeerCredentials, type Shown, shownBy } from './peer-tls.ts'
import { type Standing, tellStanding } from './standing.ts'

export interface PeerBounds extends EntranceBounds {
  /** Interval between two checks of the sessions. */
  readonly look_ms: number
  /** A session that was silent at this many checks ends: a peer that uses one pings each second. */
  readonly silentLooks_max: number
}

const BOUNDS: PeerBounds = {
  arriving_max: 32,
  eachAddress_max: 16,
  handshake_ms: 5_000,
  look_ms: 1_000,
  silentLooks_max: 10,
}

export interface PeerServerParts {
  readonly address: { readonly host: string; readonly port: number }
  readonly credentials: PeerCredentials
  /**
   * Returns the node with this pin, if it is a member at this moment; `nodeId` is the id that it claims. Called often.
   */
  readonly memberOf: (pin: string, nodeId: string) => string | undefined
  readonly handle: PeerHandler
  /** Takes connections of nodes that want to join, see `JoinServer`. When absent, none is accepted. */
  readonly join?: (socket: TLSSocket) => void
  /** Returns the standing of a removed node's key. When absent, such requests are not accepted. */
  readonly standingOf?: (pin: string) => Standing | undefined
  readonly log: Log
  readonly bounds?: Partial<PeerBounds>
}

interface Caller extends Shown {
  readonly session: ServerHttp2Session
  readonly socket: TLSSocket
  heard_bytes: number
  silentLooks: number
}

/**
 * The port for other nodes of the cluster: HTTP/2 in TLS 1.3. A caller needs a certificate of the cluster that is not
 * revoked, and the key of a current member; all others get no answer of any kind, except nodes that ask to join or for
 * their standing, in protocols of their own.
 */
export class PeerServer {
  readonly #parts: PeerServerParts
  readonly #bounds: PeerBounds
  readonly #strangers: Log
  readonly #entrance: Entrance
  readonly #callers = new Set<Caller>()
  readonly #looks: NodeJS.Timeout
  #port = 0

  private constructor(parts: PeerServerParts) {
    this.#parts = parts
    this.#bounds = { ...BOUNDS, ...parts.bounds }
    this.#strangers = strangersLog(parts.log)
    const { credentials, join, standingOf } = parts
    const enter = (socket: TLSSocket) => this.#enter(socket)
    const standing = standingOf && ((socket: TLSSocket) => tellStanding(socket, standingOf))
    this.#entrance = new Entrance({ credentials, bounds: this.#bounds, enter, join, standing, log: this.#strangers })
    this.#looks = setInterval(() => this.#look(), this.#bounds.look_ms).unref()
  }

  /** Resolves when the port listens. */
  static async open(parts: PeerServerParts): Promise<PeerServer> {
    const server = new PeerServer(parts)
    try {
      server.#port = await server.#entrance.listen(parts.address)
    } catch (error) {
      clearInterval(server.#looks)
      throw error
    }
    return server
  }

  /** The port on which it listens. */
  get port(): number {
    return this.#port
  }

  /** Number of open connections: of callers, and of those in their handshake. */
  get connections(): number {
    return this.#entrance.open
  }

  /** Presents other credentials, including the revocation lists, from the next connection on. */
  present(credentials: PeerCredentials): void {
    this.#entrance.present(credentials)
  }

  /** Ends the sessions of nodes that are no longer members. Without this call it happens a little later. */
  recheck(): void {
    for (const caller of this.#callers) this.#isMember(caller)
  }

  /** Ends everything at once. */
  async close(): Promise<void> {
    clearInterval(this.#looks)
    for (const { session } of this.#callers) session.destroy()
    await this.#entrance.close()
  }

  #enter(socket: TLSSocket): void {
    const shown = shownBy(socket)
    if (shown === undefined || this.#parts.memberOf(shown.pin, shown.nodeId) !== shown.nodeId) {
      this.#strangers.warn('not a member of the cluster', { address: socket.remoteAddress, nodeId: shown?.nodeId })
      socket.destroy()
      return
    }
    const session = performServerHandshake(socket, HTTP2_OPTIONS)
    const caller: Caller = { ...shown, session, socket, heard_bytes: 0, silentLooks: 0 }
    this.#callers.add(caller)
    session.setLocalWindowSize(SESSION_WINDOW_BYTES)
    session.on('error', () => undefined)
    session.once('close', () => this.#callers.delete(caller))
    session.on('stream', (stream, head) => {
      if (!this.#isMember(caller)) return
      const { handle, log } = this.#parts
      void answerStream(stream, head, { from: caller.nodeId, handle, log })
    })
  }

  /** Whether the caller is still a member; if not, ends its session. */
  #isMember({ nodeId, pin, session, socket }: Caller): boolean {
    if (this.#parts.memberOf(pin, nodeId) === nodeId) return true
    this.#parts.log.info('a node that was removed is locked out', { nodeId, address: socket.remoteAddress })
    session.destroy()
    return false
  }

  #look(): void {
    for (const caller of this.#callers) {
      const { socket, session, nodeId } = caller
      if (!this.#isMember(caller)) continue
      caller.silentLooks = socket.bytesRead === caller.heard_bytes ? caller.silentLooks + 1 : 0
      caller.heard_bytes = socket.bytesRead
      if (caller.silentLooks < this.#bounds.silentLooks_max) continue
      this.#parts.log.info('a node has not been heard from', { nodeId, address: socket.remoteAddress })
      session.destroy()
    }
  }
}
