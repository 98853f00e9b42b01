import type { TLSSocket } from 'node:tls'
import { after } from '../../base/after.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { ApiError } from '../../base/errors.ts'
import { type Log, strangersLog } from '../../base/log.ts'
import { VERSION } from '../../base/version.ts'
import { joinSession, memberProof } from '../../cluster/join-proof.ts'
import {
  type Proving,
  redeem,
  type Redeeming,
  type Redemption,
  type StoredJoinToken,
  unproven,
} from '../../cluster/join-token.ts'
import { JoinError } from './join-error.ts'
import { encodeMessage, MessageError, readMessage } from './messages.ts'
import { type Found, probe } from './probe.ts'
import {
  ANSWERED_MAX,
  type Answered,
  type Application,
  type Asked,
  ASKED_MAX,
  PROTOCOL,
  readOpening,
  REFUSAL_LENGTH_MAX,
  type Seen,
} from './protocol.ts'
import { type Applying, assertFits, assertRole, readApplying } from './requirements.ts'

/** The cluster's store of tokens. */
export interface JoinTokens {
  /** Returns undefined for an unknown id. Any machine can cause this call. */
  kept(id: string): Promise<StoredJoinToken | undefined>
  /**
   * Writes the result of `change`, unless that is a refusal; resolves when it is durable. The token is not changed in
   * between: if another writer was faster, `change` is called again.
   */
  use(id: string, change: (kept: StoredJoinToken) => Redemption): Promise<Redemption | undefined>
}

/** Limits in milliseconds, and numbers of connections. */
export interface JoinBounds {
  /**
   * Connections that have not proved to know a token yet. Above this the oldest is dropped: an honest node is done in a
   * moment.
   */
  readonly strangers_max: number
  /** From the handshake until the proof has arrived. */
  readonly prove_ms: number
  /** Connections that have proved it. Further ones are asked to come again. */
  readonly proven_max: number
  /** From the proof until the answer is sent. */
  readonly answer_ms: number
  /** For the connection to the joiner's own address. */
  readonly probe_ms: number
}

const BOUNDS: JoinBounds = { strangers_max: 4, prove_ms: 10_000, proven_max: 4, answer_ms: 30_000, probe_ms: 3_000 }

export interface JoinServerParts {
  /** This node's own id, as in the certificate that it presents. */
  readonly self: string
  readonly tokens: JoinTokens
  /** The facts about the cluster that a look returns. */
  readonly cluster: () => Pick<Seen, 'clusterId' | 'name' | 'nodes' | 'removed'>
  /** The level up to which entries may be written in the cluster. */
  readonly level: () => number
  /**
   * Called before the token is used, and for a look.
   *
   * @throws {ApiError} with the reason why the node, as it is, would not be admitted.
   */
  readonly vet: (application: Application, token: StoredJoinToken, joinerId: string) => void
  /**
   * Admits the node; the result is sent to it. If the node has not received the answer, it comes again with the same
   * keys, perhaps to another member and while this call is still running, and must get the same result.
   *
   * @throws {JoinError|ApiError} with the reason that is sent to the node.
   */
  readonly admit: (application: Application, token: StoredJoinToken, joinerId: string) => Promise<unknown>
  readonly log: Log
  readonly clock?: Pick<Clock, 'now_ms'>
  readonly bounds?: Partial<JoinBounds>
}

interface Proven extends Proving {
  readonly kept: StoredJoinToken
  readonly asked: Asked
}

/** A member's side of joining, for nodes that have nothing but a token. The resources for each of them are limited. */
export class JoinServer {
  readonly #parts: JoinServerParts
  readonly #bounds: JoinBounds
  readonly #clock: Pick<Clock, 'now_ms'>
  readonly #strangersLog: Log
  /** Connections without a proof yet, each with the function that ends its time limit; the oldest comes first. */
  readonly #strangers = new Map<TLSSocket, () => void>()
  #proven = 0

  constructor(parts: JoinServerParts) {
    this.#parts = parts
    this.#bounds = { ...BOUNDS, ...parts.bounds }
    this.#clock = parts.clock ?? systemClock
    this.#strangersLog = strangersLog(parts.log)
  }

  /** Takes a connection after its handshake, for `PeerServer`. */
  readonly enter = (socket: TLSSocket): void => {
    const { strangers_max, prove_ms } = this.#bounds
    socket.on('error', () => undefined)
    this.#strangers.set(
      socket,
      after(prove_ms, () => socket.destroy()),
    )
    socket.once('close', () => this.#forget(socket))
    const [oldest] = this.#strangers.keys()
    if (this.#strangers.size > strangers_max) oldest?.destroy()
    void this.#serve(socket)
  }

  #forget(socket: TLSSocket): void {
    this.#strangers.get(socket)?.()
    this.#strangers.delete(socket)
  }

  async #serve(socket: TLSSocket): Promise<void> {
    try {
      const proven = await this.#prove(socket)
      await this.#atMost(socket, () => this.#answer(socket, proven))
    } catch (error) {
      if (error instanceof MessageError) {
        this.#strangersLog.info('a joining machine sent no message', {
          ...from(socket),
          why: error.message,
        })
        socket.destroy()
      } else {
        this.#refuse(socket, error)
      }
    }
  }

  async #prove(socket: TLSSocket): Promise<Proven> {
    const { protocol, asked } = readOpening(await readMessage(socket, ASKED_MAX))
    if (asked === undefined) {
      throw new JoinError(
        'OTHER_PROTOCOL',
        `The node uses join protocol ${protocol}, but the cluster uses ${PROTOCOL}; install the cluster's version ${VERSION}`,
      )
    }
    const { self, tokens } = this.#parts
    const { tokenId, joinerId } = asked
    const kept = await tokens.kept(tokenId)
    if (kept === undefined) throw unknownToken()
    if (socket.destroyed) throw new MessageError('it closed the connection')
    const session = joinSession(socket, { tokenId, joinerId, memberId: self })
    const proving = { session, proof: Buffer.from(asked.proof, 'base64url') }
    const wrong = unproven(kept, proving)
    if (wrong !== undefined) throw new JoinError(wrong.refusal, wrong.message)
    return { ...proving, kept, asked }
  }

  /**
   * Moves a connection from the strangers' places to those of proven nodes. Its place is free again when the answer is
   * sent.
   */
  async #atMost(socket: TLSSocket, work: () => Promise<void>): Promise<void> {
    const { proven_max, answer_ms } = this.#bounds
    if (this.#proven >= proven_max) throw new JoinError('BUSY', 'Other nodes are joining; try again in a minute')
    this.#forget(socket)
    this.#proven += 1
    const forget = after(answer_ms, () => socket.destroy())
    socket.once('close', forget)
    try {
      await work()
      // Not Node's `once`, which rejects when the connection breaks here.
      if (!socket.closed) await new Promise<void>((resolve) => void socket.once('close', () => resolve()))
    } finally {
      this.#proven -= 1
    }
  }

  async #answer(socket: TLSSocket, proven: Proven): Promise<void> {
    const { kept, asked, session } = proven
    const applying = await readApplying(asked.application)
    const redeeming = { ...proven, keys: applying.keys }
    accepted(redeem(kept, redeeming, this.#clock.now_ms()))
    assertRole(applying.application, kept.role)
    assertFits(applying.application, { level: this.#parts.level(), now_ms: this.#clock.now_ms() })
    this.#assertNew(session.joinerId, kept)
    this.#parts.vet(applying.application, kept, session.joinerId)
    const found = await probe(applying.address, applying.pin, this.#bounds.probe_ms)
    // The token stays unused for the next try.
    if (socket.destroyed) throw new MessageError('it closed the connection')
    const welcome = asked.intent === 'look' ? this.#seen(found) : await this.#admit(applying, found, redeeming)
    this.#send(socket, { proof: memberProof(kept, session).toString('base64url'), welcome: welcome ?? null })
    const { joinerId, tokenId } = session
    this.#parts.log.info('a joining node was answered', { ...from(socket), joinerId, tokenId, intent: asked.intent })
  }

  /** Refuses a node that is a member, unless it used this token: it may come again for an answer that it missed. */
  #assertNew(joinerId: string, kept: StoredJoinToken): void {
    if (kept.usedBy === joinerId || this.#parts.cluster().nodes.every(({ id }) => id !== joinerId)) return
    throw new JoinError(
      'ALREADY_MEMBER',
      'A node with this id is already a member of the cluster; remove it first, or join as a new node',
    )
  }

  #seen(found: Found): Seen {
    return { ...this.#parts.cluster(), version: VERSION, now_ms: this.#clock.now_ms(), ...found }
  }

  async #admit({ application }: Applying, found: Found, redeeming: Redeeming): Promise<unknown> {
    if (!found.reachable) {
      throw new JoinError(
        'ADDRESS_UNREACHABLE',
        `The cluster cannot connect to ${application.address}: ${found.why}; open that port, or choose another address`,
      )
    }
    const { tokens, admit } = this.#parts
    const { tokenId, joinerId } = redeeming.session
    const used = await tokens.use(tokenId, (kept) => redeem(kept, redeeming, this.#clock.now_ms()))
    return await admit(application, accepted(used), joinerId)
  }

  #refuse(socket: TLSSocket, error: unknown): void {
    const { code, message } = this.#reason(error)
    this.#strangersLog.warn('a node was refused', { ...from(socket), code, message })
    if (!socket.destroyed) this.#send(socket, { refusal: { code, message } })
  }

  #reason(error: unknown): Pick<JoinError, 'code' | 'message'> {
    if (error instanceof JoinError) return error
    if (error instanceof ApiError) return { code: 'REFUSED', message: error.message.slice(0, REFUSAL_LENGTH_MAX) }
    this.#parts.log.error('accepting a node failed', { error: error instanceof Error ? error.stack : String(error) })
    return { code: 'REFUSED', message: 'The member failed to accept the node; see its log' }
  }

  #send(socket: TLSSocket, answer: Answered): void {
    const message = encodeMessage(answer)
    if (message.length > ANSWERED_MAX) throw new Error(`An answer to a joiner has ${message.length} bytes`)
    socket.end(message)
  }
}

const from = (socket: TLSSocket) => ({ address: socket.remoteAddress })

const unknownToken = () =>
  new JoinError('TOKEN_UNKNOWN', 'The cluster has no such token, or no longer has it; create another one')

/** Returns the used token. @throws {JoinError} when it was refused. */
function accepted(redemption: Redemption | undefined): StoredJoinToken {
  if (redemption === undefined) throw unknownToken()
  if ('used' in redemption) return redemption.used
  throw new JoinError(redemption.refusal, redemption.message)
}
