import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type Server as TlsServer, type TLSSocket } from 'node:tls'
import { clientIp } from '../base/ip-network.ts'
import type { Log } from '../base/log.ts'
import { JOIN_PROTOCOL, type PeerCredentials, PROTOCOLS, secureOptionsOf, STANDING_PROTOCOL } from './peer-tls.ts'

export interface EntranceBounds {
  /**
   * Number of connections in their handshake. When there are more, the oldest ends: a node's handshake is over in a
   * moment.
   */
  readonly arriving_max: number
  /** Connections of one address, including those in their handshake. */
  readonly eachAddress_max: number
  readonly handshake_ms: number
}

export interface EntranceParts {
  readonly credentials: PeerCredentials
  readonly bounds: EntranceBounds
  /** Takes connections with a certificate of the cluster's authority that is not revoked. */
  readonly enter: (socket: TLSSocket) => void
  /** Takes connections that want to join, and have proved nothing yet. When absent, none is accepted. */
  readonly join: ((socket: TLSSocket) => void) | undefined
  /** Takes connections that ask whether their node was removed. */
  readonly standing: ((socket: TLSSocket) => void) | undefined
  /** For messages that any machine can cause. */
  readonly log: Log
}

/**
 * Accepts connections. A peer without a certificate of the cluster is dropped without an answer, and takes no other
 * peer's place.
 */
export class Entrance {
  readonly #parts: EntranceParts
  readonly #listener: Server
  /** Does not listen itself: a connection is counted before its handshake costs anything. */
  readonly #tls: TlsServer
  readonly #open = new Set<Socket>()
  readonly #ofAddress = new Map<string, number>()
  /** Arriving connections by address and port of the other side, oldest first. */
  readonly #arriving = new Map<string, Socket>()

  constructor(parts: EntranceParts) {
    this.#parts = parts
    this.#listener = createServer((socket) => this.#arrive(socket))
    this.#tls = createTlsServer({
      ...secureOptionsOf(parts.credentials),
      requestCert: true,
      // A joining node has no certificate yet. All others' are checked below, before any of their bytes is read.
      rejectUnauthorized: false,
      // The first of the client's protocols in this list is used: a client that can be a member must be one.
      ALPNProtocols: [
        ...PROTOCOLS,
        ...(parts.join === undefined ? [] : [JOIN_PROTOCOL]),
        ...(parts.standing === undefined ? [] : [STANDING_PROTOCOL]),
      ],
      handshakeTimeout: parts.bounds.handshake_ms,
    })
    this.#tls.on('secureConnection', (socket) => this.#admit(socket))
    this.#tls.on('tlsClientError', (error: Error & { readonly code?: string }, socket) => {
      this.#refuse(socket, error.code ?? error.message)
    })
  }

  /** Listens; resolves with the port. */
  async listen({ host, port }: { readonly host: string; readonly port: number }): Promise<number> {
    this.#listener.listen({ host, port })
    await once(this.#listener, 'listening')
    const address = this.#listener.address()
    return typeof address === 'object' && address !== null ? address.port : port
  }

  /** Presents other credentials from the next connection on. */
  present(credentials: PeerCredentials): void {
    this.#tls.setSecureContext(secureOptionsOf(credentials))
  }

  /** Number of open connections. */
  get open(): number {
    return this.#open.size
  }

  async close(): Promise<void> {
    const closed = once(this.#listener, 'close')
    this.#listener.close()
    for (const socket of this.#open) socket.destroy()
    await closed
  }

  #arrive(socket: Socket): void {
    socket.on('error', () => undefined)
    const { arriving_max, eachAddress_max } = this.#parts.bounds
    const key = keyOf(socket)
    const address = clientIp(socket.remoteAddress ?? '')
    const count = this.#ofAddress.get(address) ?? 0
    if (key === undefined || count >= eachAddress_max) {
      socket.destroy()
      return
    }
    this.#open.add(socket)
    this.#ofAddress.set(address, count + 1)
    this.#arriving.set(key, socket)
    socket.once('close', () => this.#leave(socket, key, address))
    const [oldest] = this.#arriving.values()
    if (this.#arriving.size > arriving_max) oldest?.destroy()
    this.#tls.emit('connection', socket)
  }

  #admit(socket: TLSSocket): void {
    socket.on('error', () => undefined)
    const key = keyOf(socket)
    if (key === undefined) {
      socket.destroy()
      return
    }
    const { enter, join, standing } = this.#parts
    if (join !== undefined && socket.alpnProtocol === JOIN_PROTOCOL) {
      this.#arriving.delete(key)
      join(socket)
    } else if (standing !== undefined && socket.alpnProtocol === STANDING_PROTOCOL) {
      this.#arriving.delete(key)
      standing(socket)
    } else if (socket.alpnProtocol !== PROTOCOLS[0]) {
      this.#refuse(socket, 'unknown protocol')
    } else if (!socket.authorized) {
      this.#refuse(socket, String(socket.authorizationError))
    } else {
      this.#arriving.delete(key)
      enter(socket)
    }
  }

  #refuse(socket: TLSSocket, reason: string): void {
    this.#parts.log.info('an unknown connection at the peer port', { address: socket.remoteAddress, reason })
    socket.destroy()
  }

  #leave(socket: Socket, key: string, address: string): void {
    if (!this.#open.delete(socket)) return
    if (this.#arriving.get(key) === socket) this.#arriving.delete(key)
    const left = (this.#ofAddress.get(address) ?? 1) - 1
    if (left === 0) this.#ofAddress.delete(address)
    else this.#ofAddress.set(address, left)
  }
}

/** Returns undefined for a socket that is already closed. */
function keyOf({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress === undefined ? undefined : `${remoteAddress} ${remotePort}`
}
