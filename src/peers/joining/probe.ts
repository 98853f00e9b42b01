import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect, createServer, type Server, type TLSSocket } from 'node:tls'
import { after } from '../../base/after.ts'
import { Authority } from '../../cluster/authority.ts'
import type { JoinAddress } from '../../cluster/join-token.ts'
import { shownBy } from '../peer-tls.ts'
import { PROBE_PROTOCOL } from './protocol.ts'

/**
 * Tests whether members can connect to a joining node. It listens at its address while it asks, with the very key for
 * which it requests a certificate, so the handshake alone shows that it is the asking node.
 */

/** Connections that wait at a joiner: only one is ever needed. */
const WAITING_MAX = 8
const HANDSHAKE_MS = 3_000

const REFUSED = 'the connection was refused, or there is no route to it'
const LATE = 'the connection timed out'
const ANOTHER = 'another program answers there'

/** A member's finding. It reveals no more than this, so that it cannot be used to scan ports. */
export type Found = { readonly reachable: true } | { readonly reachable: false; readonly why: string }

/**
 * Connects to an address where the holder of a key must answer.
 *
 * @param pin of that key.
 */
export function probe({ host, port }: JoinAddress, pin: string, within_ms: number): Promise<Found> {
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port,
      servername: '',
      ALPNProtocols: [PROBE_PROTOCOL],
      minVersion: 'TLSv1.3',
      // It has no certificate of the cluster yet: its key is compared.
      rejectUnauthorized: false,
    })
    const settle = (found: Found) => {
      forget()
      resolve(found)
      socket.destroy()
    }
    const fail = (why: string) => settle({ reachable: false, why })
    const forget = after(within_ms, () => fail(LATE))
    let whyBroken = REFUSED
    socket.once('connect', () => (whyBroken = ANOTHER))
    socket.on('error', () => fail(whyBroken))
    socket.once('close', () => fail(whyBroken))
    socket.once('secureConnect', () => {
      if (isHolder(socket, pin)) settle({ reachable: true })
      else fail(ANOTHER)
    })
  })
}

const isHolder = (tls: TLSSocket, pin: string) => tls.alpnProtocol === PROBE_PROTOCOL && shownBy(tls)?.pin === pin

export interface ProbedParts {
  readonly at: JoinAddress
  readonly joinerId: string
  /** The request (PKCS#10 in PEM), and its key. */
  readonly request: string
  readonly key: string
  readonly now_ms: number
}

/** Answers probes until it is closed. */
export class Probed {
  readonly #server: Server
  readonly #open = new Set<Socket>()

  private constructor(server: Server) {
    this.#server = server
    server.maxConnections = WAITING_MAX
    server.on('connection', (socket: Socket) => {
      this.#open.add(socket)
      socket.once('close', () => this.#open.delete(socket))
    })
    server.on('secureConnection', (socket) => {
      socket.on('error', () => undefined)
      socket.end()
    })
    server.on('tlsClientError', (_, socket) => socket.destroy())
  }

  /** Resolves when it listens, rejects when it cannot. */
  static async open({ at, joinerId, request, key, now_ms }: ProbedParts): Promise<Probed> {
    // An authority for this one certificate: its key is gone after this call.
    const authority = await Authority.create('client', joinerId, now_ms)
    const cert = await authority.issue(request, { nodeId: joinerId, addresses: [] }, now_ms)
    const server = createServer({
      key,
      cert,
      ALPNProtocols: [PROBE_PROTOCOL],
      minVersion: 'TLSv1.3',
      handshakeTimeout: HANDSHAKE_MS,
    })
    const probed = new Probed(server)
    server.listen(at)
    await once(server, 'listening')
    return probed
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#open) socket.destroy()
    await closed
  }
}
