import type { X509Certificate } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type TLSSocket } from 'node:tls'
import { after } from '../../base/after.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { addressText } from '../../base/socket-address.ts'
import { VERSION } from '../../base/version.ts'
import { joinSession } from '../../cluster/join-proof.ts'
import { type JoinAddress, type JoinToken, parseJoinAddress } from '../../cluster/join-token.ts'
import { LEVEL } from '../../cluster/levels.ts'
import { pinnedAuthority } from '../../cluster/node-certificate.ts'
import { whyOf } from '../peer-error.ts'
import { JOIN_PROTOCOL, shownIn } from '../peer-tls.ts'
import { JoinError, type JoinErrorCode, refusedWith } from './join-error.ts'
import { encodeMessage, MessageError, readMessage } from './messages.ts'
import { Probed } from './probe.ts'
import {
  ANSWERED_MAX,
  type Application,
  type Intent,
  PROTOCOL,
  readAnswered,
  readSeen,
  type Seen,
  shownRequest,
} from './protocol.ts'

/** In milliseconds. */
export interface JoinPatience {
  /** For a member to begin to listen: it does not while it starts, nor for a moment after it has formed the cluster. */
  readonly start_ms: number
  /** From the first packet to the end of the handshake, for each address. */
  readonly connect_ms: number
  /** From then on; longer than a member takes. */
  readonly answer_ms: number
}

const PATIENCE: JoinPatience = { start_ms: 3_000, connect_ms: 5_000, answer_ms: 40_000 }
const AGAIN_MS = 250

export interface JoinClientParts {
  readonly token: JoinToken
  readonly joinerId: string
  readonly application: Omit<Application, 'version' | 'level' | 'now_ms'>
  /** Key of `shownRequest`, in PEM. Members check that its holder answers at the address of the application. */
  readonly shownKey: string
  /** The local address for that check; when absent, the address of the application itself. */
  readonly listen?: JoinAddress
  readonly clock?: Pick<Clock, 'now_ms'>
  readonly patience?: Partial<JoinPatience>
}

/** An address of the token without an answer, or with a member that cannot admit nodes. */
export interface Unanswered {
  readonly address: string
  /** The reason as half a sentence. */
  readonly why: string
}

/** The answer of a member that has proved to belong to the cluster, and to know the token. */
export interface JoinAnswer<T> {
  readonly welcome: T
  readonly memberId: string
  readonly address: string
  /** The authority that the token names, in PEM. */
  readonly authority: string
  /** Addresses that were tried before that one. */
  readonly unanswered: readonly Unanswered[]
}

/** No member answered here, or one with a problem of its own; the next address may do. */
class UnansweredError extends Error {
  override readonly name = 'UnansweredError'
  readonly code: JoinErrorCode &
    ('WRONG_PIN' | 'UNREACHABLE' | 'LOST' | 'CLOCK_SKEW' | 'BUSY' | 'REFUSED' | 'TOKEN_UNKNOWN')
  /** Whether nothing listens there. */
  readonly isClosed: boolean

  constructor(code: UnansweredError['code'], why: string, isClosed = false) {
    super(why)
    this.code = code
    this.isClosed = isClosed
  }
}

interface Failure {
  readonly address: string
  readonly error: UnansweredError
}
const unansweredOf = ({ address, error }: Failure): Unanswered => ({ address, why: error.message })

/**
 * Messages when no address admitted the node: the first code in this list that occurred decides. Undefined: the
 * member's own message.
 */
const NONE_ANSWERED = [
  ['LOST', 'It is unknown whether the cluster accepted this node; try again with the same token'],
  ['REFUSED', undefined],
  ['BUSY', 'The members that answer are busy; try again in a minute'],
  ['TOKEN_UNKNOWN', undefined],
  ['CLOCK_SKEW', 'The clock of this node is wrong, so certificates are not valid; set it, or use NTP'],
  ['WRONG_PIN', 'The addresses in the token do not belong to the cluster that issued it; create a new token there'],
  ['UNREACHABLE', 'No member of the cluster can be reached; check addresses and firewalls, or create a new token'],
] as const satisfies readonly (readonly [UnansweredError['code'], string | undefined])[]

function noneAnswered(failures: readonly Failure[]): JoinError {
  const each = failures.map(({ address, error }) => `${address}: ${error.message}`).join('; ')
  for (const [code, what] of NONE_ANSWERED) {
    const first = failures.find(({ error }) => error.code === code)?.error
    if (first !== undefined) return new JoinError(code, what === undefined ? first.message : `${what} (${each})`)
  }
  return new JoinError('UNREACHABLE', 'The token names no member')
}

/** The client of a node that is no member yet, with nothing but a token. */
export class JoinClient {
  readonly #parts: JoinClientParts
  readonly #patience: JoinPatience
  readonly #clock: Pick<Clock, 'now_ms'>

  constructor(parts: JoinClientParts) {
    this.#parts = parts
    this.#patience = { ...PATIENCE, ...parts.patience }
    this.#clock = parts.clock ?? systemClock
  }

  /**
   * Returns what joining would encounter. Changes nothing, and the token stays valid.
   *
   * @throws {JoinError} as `join`, except that an unreachable address of this node is part of the answer.
   */
  async look(): Promise<JoinAnswer<Seen>> {
    const answer = await this.#askFrom('look')
    const welcome = readSeen(answer.welcome)
    if (welcome === undefined) throw unreadable(answer.address)
    return { ...answer, welcome }
  }

  /**
   * Asks to be admitted. Once it was sent, it may have been executed whatever the answer; the same client may ask again
   * as long as the token is valid.
   *
   * @throws {JoinError}
   */
  async join(): Promise<JoinAnswer<unknown>> {
    return await this.#askFrom('join')
  }

  async #askFrom(intent: Intent): Promise<JoinAnswer<unknown>> {
    const probed = await this.#listen()
    try {
      return await this.#askInTurn(intent)
    } finally {
      await probed.close()
    }
  }

  async #listen(): Promise<Probed> {
    const { application, joinerId, shownKey: key, listen } = this.#parts
    const at = listen ?? parseJoinAddress(application.address)
    if (at === undefined) {
      throw new JoinError('INVALID_APPLICATION', 'The address of this node must be HOST:PORT, with [HOST] for IPv6')
    }
    try {
      return await Probed.open({ at, joinerId, key, request: shownRequest(application), now_ms: this.#clock.now_ms() })
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? String(error)
      throw new JoinError(
        'ADDRESS_UNREACHABLE',
        `This node cannot listen at ${addressText(at)} (${why}); free that port, or choose an address of this node`,
      )
    }
  }

  async #askInTurn(intent: Intent): Promise<JoinAnswer<unknown>> {
    const until_ms = performance.now() + this.#patience.start_ms
    for (;;) {
      const failures: Failure[] = []
      for (const to of this.#parts.token.addresses) {
        const address = addressText(to)
        try {
          return { ...(await this.#ask(to, intent)), address, unanswered: failures.map(unansweredOf) }
        } catch (error) {
          if (!(error instanceof UnansweredError)) throw error
          failures.push({ address, error })
        }
      }
      if (performance.now() >= until_ms || !failures.every(({ error }) => error.isClosed)) throw noneAnswered(failures)
      await sleep(AGAIN_MS)
    }
  }

  async #ask(to: JoinAddress, intent: Intent): Promise<Omit<JoinAnswer<unknown>, 'address' | 'unanswered'>> {
    const socket = await this.#connect(to)
    try {
      const { memberId, authority } = this.#memberAt(socket)
      const { token, joinerId, application } = this.#parts
      const session = joinSession(socket, { tokenId: token.id, joinerId, memberId })
      socket.write(
        encodeMessage({
          protocol: PROTOCOL,
          tokenId: token.id,
          joinerId,
          intent,
          application: { ...application, version: VERSION, level: LEVEL, now_ms: this.#clock.now_ms() },
          proof: token.prove(session).toString('base64url'),
        }),
      )
      const answered = readAnswered(await this.#answer(socket, intent))
      if (answered === undefined) throw unreadable(addressText(to))
      if ('refusal' in answered) throw refusal(answered.refusal)
      if (!token.isProofOfMember(session, Buffer.from(answered.proof, 'base64url'))) {
        throw new JoinError(
          'WRONG_PROOF',
          `The server at ${addressText(to)} does not know the token; check what is between this node and the cluster`,
        )
      }
      return { memberId, authority: authority.toString(), welcome: answered.welcome }
    } finally {
      socket.destroy()
    }
  }

  #connect({ host, port }: JoinAddress): Promise<TLSSocket> {
    const { connect_ms } = this.#patience
    return new Promise((resolve, reject) => {
      const socket = connect({
        host,
        port,
        servername: '',
        ALPNProtocols: [JOIN_PROTOCOL],
        minVersion: 'TLSv1.3',
        // This node knows only the pin of the cluster's authority, and `#memberAt` checks that.
        rejectUnauthorized: false,
      })
      const fail = (why: string, isClosed = false) => {
        forget()
        socket.destroy()
        reject(new UnansweredError('UNREACHABLE', why, isClosed))
      }
      const forget = after(connect_ms, () => fail(`it accepted no connection within ${connect_ms} ms`))
      socket.on('error', (error) => fail(whyNot(error), Reflect.get(error, 'code') === 'ECONNREFUSED'))
      socket.once('close', () => fail('it closed the connection'))
      socket.once('secureConnect', () => {
        forget()
        resolve(socket)
      })
    })
  }

  /** Returns the answering member: a node that the authority of the token has certified. */
  #memberAt(socket: TLSSocket): { readonly memberId: string; readonly authority: X509Certificate } {
    // Read only once: on another call, Node returns the next certificate of the chain.
    const shown = socket.getPeerX509Certificate()
    const memberId = shown && shownIn(shown)?.nodeId
    const authority = shown && this.#authorityOf(shown)
    if (memberId === undefined || authority === undefined) {
      throw new UnansweredError('WRONG_PIN', 'the server there is not part of the cluster that issued the token')
    }
    if (socket.alpnProtocol !== JOIN_PROTOCOL) throw new UnansweredError('UNREACHABLE', TAKES_NONE)
    return { memberId, authority }
  }

  #authorityOf(shown: X509Certificate): X509Certificate | undefined {
    const { pin } = this.#parts.token
    const now_ms = this.#clock.now_ms()
    const authority = pinnedAuthority(shown, pin, now_ms)
    if (authority !== undefined || pinnedAuthority(shown, pin, Date.parse(shown.validFrom)) === undefined) {
      return authority
    }
    throw new UnansweredError(
      'CLOCK_SKEW',
      `its certificate is valid from ${shown.validFrom} to ${shown.validTo}, not at ${new Date(now_ms).toUTCString()}`,
    )
  }

  async #answer(socket: TLSSocket, intent: Intent): Promise<unknown> {
    const forget = after(this.#patience.answer_ms, () => socket.destroy())
    try {
      return await readMessage(socket, ANSWERED_MAX)
    } catch (error) {
      if (!(error instanceof MessageError)) throw error
      // A look has changed nothing.
      throw new UnansweredError(intent === 'join' ? 'LOST' : 'UNREACHABLE', `its answer was lost: ${error.message}`)
    } finally {
      forget()
    }
  }
}

const TAKES_NONE = 'it accepts no nodes'

function whyNot(error: Error & { readonly code?: unknown }): string {
  return String(error.code).includes('NO_APPLICATION_PROTOCOL') ? TAKES_NONE : whyOf(error)
}

/**
 * Returns the error for a refusal. Another member may have the time or the quorum that this one lacks, or newer data.
 */
function refusal({ code: sent, message }: { readonly code: string; readonly message: string }): Error {
  const error = refusedWith(sent, message)
  const { code } = error
  if (code === 'BUSY') return new UnansweredError(code, 'it is busy')
  return code === 'REFUSED' || code === 'TOKEN_UNKNOWN' ? new UnansweredError(code, message) : error
}

const unreadable = (address: string) =>
  new JoinError('OTHER_PROTOCOL', `The answer of ${address} cannot be read; install the version of the cluster`)
