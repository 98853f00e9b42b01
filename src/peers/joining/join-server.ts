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

/** Tokens as the cluster keeps them. */
export interface JoinTokens {
  /** undefined: there is none with this id. Anybody can make a member ask. */
  kept(id: string): Promise<StoredJoinToken | undefined>
  /**
   * Writes what `change` makes of the token, unless that is a refusal; resolves when it is durable. Nobody writes the
   * token between: where somebody did, `change` is asked again.
   */
  use(id: string, change: (kept: StoredJoinToken) => Redemption): Promise<Redemption | undefined>
}

/** Milliseconds, and how many at once. */
export interface JoinBounds {
  /**
   * Connections that have not proved to know a token yet. Beyond this the oldest is dropped: an honest node is done in
   * a moment.
   */
  readonly strangers_max: number
  /** From the handshake until the proof has come. */
  readonly prove_ms: number
  /** Connections that have proved it. More are told to come again. */
  readonly proven_max: number
  /** From the proof until the answer is sent. */
  readonly answer_ms: number
  /** For the connection to the joiner's own address. */
  readonly probe_ms: number
}

const BOUNDS: JoinBounds = { strangers_max: 4, prove_ms: 10_000, proven_max: 4, answer_ms: 30_000, probe_ms: 3_000 }

export interface JoinServerParts {
  /** This node's own id, which stands in the certificate that it shows. */
  readonly self: string
  readonly tokens: JoinTokens
  /** What a look tells of the cluster. */
  readonly cluster: () => Pick<Seen, 'clusterId' | 'name' | 'nodes' | 'removed'>
  /** Up to which entries may be written in the cluster. */
  readonly level: () => number
  /**
   * Before the token is used, and for a look.
   *
   * @throws {ApiError} with the reason that the node would not be let in for as it is.
   */
  readonly vet: (application: Application, token: StoredJoinToken, joinerId: string) => void
  /**
   * Lets the node in; what it answers is sent to it. The same node comes again with the same keys when it has not heard
   * the answer, perhaps by way of another member and while this still goes on, and has to get the same.
   *
   * @throws {JoinError|ApiError} with the reason that the node is told.
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

/** A member, asked by nodes that have nothing but a token. What each of them may take is bounded. */
export class JoinServer {
  readonly #parts: JoinServerParts
  readonly #bounds: JoinBounds
  readonly #clock: Pick<Clock, 'now_ms'>
  readonly #strangersLog: Log
  /** Each with what ends its patience; the oldest comes first. */
  readonly #strangers = new Map<TLSSocket, () => void>()
  #proven = 0

  constructor(parts: JoinServerParts) {
    this.#parts = parts
    this.#bounds = { ...BOUNDS, ...parts.bounds }
    this.#clock = parts.clock ?? systemClock
    this.#strangersLog = strangersLog(parts.log)
  }

  /** A connection whose handshake is done, for `PeerServer`. */
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
        this.#strangersLog.info('a machine that wanted to join sent no message', {
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
        `The node joins by protocol ${protocol} and the cluster by ${PROTOCOL}; install the cluster's version ${VERSION}`,
      )
    }
    const { self, tokens } = this.#parts
    const { tokenId, joinerId } = asked
    const kept = await tokens.kept(tokenId)
    if (kept === undefined) throw unknownToken()
    if (socket.destroyed) throw new MessageError('it went away')
    const session = joinSession(socket, { tokenId, joinerId, memberId: self })
    const proving = { session, proof: Buffer.from(asked.proof, 'base64url') }
    const wrong = unproven(kept, proving)
    if (wrong !== undefined) throw new JoinError(wrong.refusal, wrong.message)
    return { ...proving, kept, asked }
  }

  /** From here on it is no stranger, and takes no place of theirs. Its own is free again when the answer has gone. */
  async #atMost(socket: TLSSocket, work: () => Promise<void>): Promise<void> {
    const { proven_max, answer_ms } = this.#bounds
    if (this.#proven >= proven_max)
      throw new JoinError('BUSY', 'Other nodes join at this moment; try again in a minute')
    this.#forget(socket)
    this.#proven += 1
    const forget = after(answer_ms, () => socket.destroy())
    socket.once('close', forget)
    try {
      await work()
      // Not `once` of Node, for which a connection that breaks then is an error.
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
    // The token is left for the next try.
    if (socket.destroyed) throw new MessageError('it went away')
    const welcome = asked.intent === 'look' ? this.#seen(found) : await this.#admit(applying, found, redeeming)
    this.#send(socket, { proof: memberProof(kept, session).toString('base64url'), welcome: welcome ?? null })
    const { joinerId, tokenId } = session
    this.#parts.log.info('a node was answered that joins', { ...from(socket), joinerId, tokenId, intent: asked.intent })
  }

  /** A node that has already used the token may be a member by it, and may come for an answer that it missed. */
  #assertNew(joinerId: string, kept: StoredJoinToken): void {
    if (kept.usedBy === joinerId || this.#parts.cluster().nodes.every(({ id }) => id !== joinerId)) return
    throw new JoinError(
      'ALREADY_MEMBER',
      'A node with this id is a member of the cluster; remove that one from it first, or join as a new node',
    )
  }

  #seen(found: Found): Seen {
    return { ...this.#parts.cluster(), version: VERSION, now_ms: this.#clock.now_ms(), ...found }
  }

  async #admit({ application }: Applying, found: Found, redeeming: Redeeming): Promise<unknown> {
    if (!found.reachable) {
      throw new JoinError(
        'ADDRESS_UNREACHABLE',
        `No connection from the cluster to ${application.address}: ${found.why}; open that port, or give another address`,
      )
    }
    const { tokens, admit } = this.#parts
    const { tokenId, joinerId } = redeeming.session
    const used = await tokens.use(tokenId, (kept) => redeem(kept, redeeming, this.#clock.now_ms()))
    return await admit(application, accepted(used), joinerId)
  }

  #refuse(socket: TLSSocket, error: unknown): void {
    const { code, message } = this.#reason(error)
    this.#strangersLog.warn('a node was not let in', { ...from(socket), code, message })
    if (!socket.destroyed) this.#send(socket, { refusal: { code, message } })
  }

  #reason(error: unknown): Pick<JoinError, 'code' | 'message'> {
    if (error instanceof JoinError) return error
    if (error instanceof ApiError) return { code: 'REFUSED', message: error.message.slice(0, REFUSAL_LENGTH_MAX) }
    this.#parts.log.error('letting a node in failed', { error: error instanceof Error ? error.stack : String(error) })
    return { code: 'REFUSED', message: 'The member failed to let the node in; its log says why' }
  }

  #send(socket: TLSSocket, answer: Answered): void {
    const message = encodeMessage(answer)
    if (message.length > ANSWERED_MAX) throw new Error(`An answer to a joiner has ${message.length} bytes`)
    socket.end(message)
  }
}

const from = (socket: TLSSocket) => ({ address: socket.remoteAddress })

const unknownToken = () =>
  new JoinError('TOKEN_UNKNOWN', 'The cluster has no such token, or has it no longer; make another one')

/** @throws {JoinError} when it was refused. */
function accepted(redemption: Redemption | undefined): StoredJoinToken {
  if (redemption === undefined) throw unknownToken()
  if ('used' in redemption) return redemption.used
  throw new JoinError(redemption.refusal, redemption.message)
}
