import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type Server as TlsServer, type TLSSocket } from 'node:tls'
import { clientIp } from '../base/ip-network.ts'
import type { Log } from '../base/log.ts'
import { JOIN_PROTOCOL, type PeerCredentials, PROTOCOLS, secureOptionsOf, STANDING_PROTOCOL } from './peer-tls.ts'

export interface EntranceBounds {
  /** Connections whose handshake goes on. Of more, the oldest ends: a node is through in a moment. */
  readonly arriving_max: number
  /** Connections of one address, with those whose handshake goes on. */
  readonly eachAddress_max: number
  readonly handshake_ms: number
}

export interface EntranceParts {
  readonly credentials: PeerCredentials
  readonly bounds: EntranceBounds
  /** Whose certificate is one of the cluster's authority and not revoked. */
  readonly enter: (socket: TLSSocket) => void
  /** Connections that want to join, and have shown nothing yet. If it is left out, nobody can ask. */
  readonly join: ((socket: TLSSocket) => void) | undefined
  /** Connections that want to know whether their node was removed. */
  readonly standing: ((socket: TLSSocket) => void) | undefined
  /** For lines that anybody can cause. */
  readonly log: Log
}

/**
 * Accepts connections. A peer without a certificate of the cluster is dropped without a word, and takes nobody's place.
 */
export class Entrance {
  readonly #parts: EntranceParts
  readonly #listener: Server
  /** Never listens itself: a connection is counted before it costs a handshake. */
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
      // A joining node has no certificate yet. Everybody else's is checked below, before a byte of theirs is read.
      rejectUnauthorized: false,
      // The first of the client's protocols that is listed here: a client that can be a member has to be one.
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

  /** Resolves with the port. */
  async listen({ host, port }: { readonly host: string; readonly port: number }): Promise<number> {
    this.#listener.listen({ host, port })
    await once(this.#listener, 'listening')
    const address = this.#listener.address()
    return typeof address === 'object' && address !== null ? address.port : port
  }

  /** From the next connection on. */
  present(credentials: PeerCredentials): void {
    this.#tls.setSecureContext(secureOptionsOf(credentials))
  }

  /** Connections that are open now. */
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
      this.#refuse(socket, 'no protocol of ours')
    } else if (!socket.authorized) {
      this.#refuse(socket, String(socket.authorizationError))
    } else {
      this.#arriving.delete(key)
      enter(socket)
    }
  }

  #refuse(socket: TLSSocket, reason: string): void {
    this.#parts.log.info('a stranger at the port of peers', { address: socket.remoteAddress, reason })
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

/** undefined: it is gone already. */
function keyOf({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress === undefined ? undefined : `${remoteAddress} ${remotePort}`
}
