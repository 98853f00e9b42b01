import type { OutgoingHttpHeaders } from 'node:http2'
import { type Clock, systemClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { ask, type ForwardedAnswer } from './asking.ts'
import type { PeerBody } from './bodies.ts'
import {
  CarriedError,
  carriedOfRequest,
  checkedPath,
  checkedRequestId,
  type Headers,
  REQUEST_ID,
  type Target,
  WHO,
} from './carried.ts'
import { closed, PeerError } from './peer-error.ts'
import { type Liveness, type Patience, type Peer, PeerSession } from './peer-session.ts'
import type { PeerCredentials } from './peer-tls.ts'
import { type CarriedWho, encodeWho, WhoError } from './who.ts'

const PATIENCE: Patience = {
  accept_ms: 2_000,
  ping_ms: 1_000,
  silent_ms: 2_000,
  pause_min_ms: 100,
  pause_max_ms: 5_000,
  wanted_ms: 60_000,
}

export interface PeerClientParts {
  /** Id of this node. */
  readonly self: string
  readonly credentials: PeerCredentials
  /** Returns undefined for a node that is not a member. Called often. */
  readonly peerOf: (nodeId: string) => Peer | undefined
  readonly log: Log
  readonly clock?: Clock
  readonly patience?: Partial<Patience>
}

/** A request for another node. */
export interface ForwardedRequest extends Target {
  readonly nodeId: string
  /** Only headers among `REQUEST_HEADERS` are sent. */
  readonly headers: Headers
  readonly requestId: string
  readonly who: CarriedWho
  /** When it fails, the other node gets no request that looks complete. */
  readonly body?: PeerBody
  /** Aborted when the client disconnects: the other node is informed. */
  readonly signal?: AbortSignal
}

/** Sends requests to other nodes, to each in one session. Nothing is sent twice. */
export class PeerClient {
  readonly #parts: PeerClientParts
  readonly #sessions = new Map<string, PeerSession>()
  #credentials: PeerCredentials
  #isClosed = false

  constructor(parts: PeerClientParts) {
    this.#parts = parts
    this.#credentials = parts.credentials
  }

  /**
   * Forwards a request; resolves with the head of the answer.
   *
   * @throws {PeerError} `unreachable` and `lost` have the message of a 503 NODE_UNREACHABLE.
   */
  async forward(request: ForwardedRequest): Promise<ForwardedAnswer> {
    const { nodeId, body, signal } = request
    const head = this.#headOf(request)
    const peer = this.#sessionWith(nodeId)
    const session = await peer.session()
    if (signal?.aborted === true) throw new PeerError('aborted', 'The caller closed the connection')
    if (session.closed || session.destroyed) throw peer.error('unreachable')
    // Above this limit Node would hold requests back as long as others last, which may be for ever.
    if (peer.asked >= (session.remoteSettings.maxConcurrentStreams ?? 0)) throw busy()
    const ended = () => (peer.asked -= 1)
    const answer = ask(session, { head, body, signal, ended, lost: () => peer.error('lost') })
    peer.asked += 1
    return await answer
  }

  /** Keeps sessions with these nodes from now on, whether or not they are used, and ends those with others. */
  keep(nodeIds: readonly string[]): void {
    for (const nodeId of this.#sessions.keys()) if (!nodeIds.includes(nodeId)) this.#forget(nodeId)
    for (const nodeId of nodeIds) this.#sessionWith(nodeId).keep()
  }

  /** Returns the state of the node. The call shows interest, so its session is kept connected for a while. */
  livenessOf(nodeId: string): Liveness {
    return this.#sessionWith(nodeId).liveness
  }

  /** Ends sessions with nodes that are no longer members. Without this call it happens a little later. */
  recheck(): void {
    for (const [nodeId, session] of this.#sessions) {
      if (this.#parts.peerOf(nodeId) === undefined) this.#forget(nodeId)
      else session.recheck()
    }
  }

  /** Uses other credentials from the next session on. */
  present(credentials: PeerCredentials): void {
    this.#credentials = credentials
  }

  /** Ends everything at once, including waiting requests. */
  close(): void {
    this.#isClosed = true
    for (const nodeId of this.#sessions.keys()) this.#forget(nodeId)
  }

  #headOf({ method, path, query, headers, requestId, who }: ForwardedRequest): OutgoingHttpHeaders {
    try {
      return {
        ':method': method,
        ':path': checkedPath({ method, path, query }),
        ...carriedOfRequest(headers),
        [REQUEST_ID]: checkedRequestId(requestId),
        [WHO]: encodeWho(who, this.#parts.self),
      }
    } catch (error) {
      if (error instanceof CarriedError || error instanceof WhoError) throw new PeerError('refused', error.message)
      throw error
    }
  }

  #sessionWith(nodeId: string): PeerSession {
    const { self, peerOf, log, clock = systemClock, patience } = this.#parts
    if (this.#isClosed) throw closed()
    if (nodeId === self || peerOf(nodeId) === undefined) {
      this.#forget(nodeId)
      throw new PeerError('refused', 'There is no other node with this id in the cluster', { nodeId })
    }
    let session = this.#sessions.get(nodeId)
    if (session === undefined) {
      const credentials = () => this.#credentials
      session = new PeerSession({ nodeId, peerOf, credentials, log, clock, patience: { ...PATIENCE, ...patience } })
      this.#sessions.set(nodeId, session)
    }
    return session
  }

  #forget(nodeId: string): void {
    this.#sessions.get(nodeId)?.close()
    this.#sessions.delete(nodeId)
  }
}

const busy = () => new PeerError('busy', 'Too many requests are waiting for this node')
