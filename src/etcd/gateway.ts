import type { Agent as SocketAgent, ClientRequest, IncomingMessage } from 'node:http'
import { Agent, type AgentOptions, request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { checkServerIdentity } from '../base/server-identity.ts'
import { after } from '../base/after.ts'
import { http } from '../base/http.ts'
import { broken, EtcdError, lost, refusal, unanswered, unreadable } from './errors.ts'
import { type Fields, fieldsOf, numberOf, part, textOf, UnreadableError } from './fields.ts'

/** PEM, or DER where Node takes it. */
export interface Credentials {
  /** The authority of the members' certificates. */
  readonly ca: string | Buffer
  readonly certificate: string | Buffer
  readonly key: string | Buffer
}

/** One call to etcd, before it is known which member takes it. */
export interface Call {
  /** Behind `/v3/`. */
  readonly path: string
  readonly fields: Fields
  /** It must not be executed twice. */
  readonly isWrite?: boolean
  /** The member answers it alone, without a leader too. */
  readonly isLocal?: boolean
}

/** Milliseconds from now. */
export interface Patience {
  /** Until it goes on with the next member: for the connection and, of a read, for the first byte of the answer. */
  readonly share_ms: number
  /** For everything. */
  readonly left_ms: number
}

const NOT_ETCD = 'its answer is not that of etcd'
/** What etcd allows a request to have, 1.5 MiB, is far below; a range can be long. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024
const CONNECTIONS_MAX = 32
const IDLE_CONNECTIONS_MAX = 4

interface Begun {
  readonly request: ClientRequest
  readonly response: IncomingMessage
}

/**
 * The JSON gateway of one member. Errors of the connection are told by whether the request may have been executed: it
 * was not as long as the other side has not accepted the connection.
 */
export class Gateway {
  /** As messages show it. */
  readonly address: string
  readonly #url: URL
  /** A local socket, where the mode of a file decides about access. */
  readonly #isSocket: boolean
  readonly #agent: Agent | SocketAgent
  /** What streams goes on for long, and must not take the places of calls. */
  readonly #streams: Agent | SocketAgent

  /** `https://HOST:PORT`, or `unix:///PATH`, to which nothing is shown. */
  constructor(url: string, { ca, certificate, key }: Credentials) {
    this.#url = new URL(url)
    this.#isSocket = this.#url.protocol === 'unix:'
    if (!this.#isSocket && this.#url.protocol !== 'https:')
      throw new Error(`${url} is not the address of a gateway: https is needed`)
    this.address = this.#isSocket ? this.#url.pathname : this.#url.host
    const tls = { ca, cert: certificate, key, minVersion: 'TLSv1.3' as const, checkServerIdentity }
    const agent = (options: AgentOptions) =>
      this.#isSocket ? new http.Agent(options) : new Agent({ ...tls, ...options })
    this.#agent = agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX, maxFreeSockets: IDLE_CONNECTIONS_MAX })
    this.#streams = agent({ keepAlive: false })
  }

  /** The answer of a call. Rejects with `EtcdError`. */
  async ask(call: Call, patience: Patience): Promise<Fields> {
    const isWrite = call.isWrite === true
    const until_ms = performance.now() + patience.left_ms
    const { request, response } = await this.#begin(call, patience, this.#agent)
    const forget = after(until_ms - performance.now(), () => response.destroy(new LateError()))
    try {
      return answered(response.statusCode ?? 0, await textFrom(response), isWrite)
    } catch (error) {
      request.destroy()
      throw error instanceof LateError ? this.#hung(isWrite, patience.left_ms) : asEtcdError(error, isWrite)
    } finally {
      forget()
    }
  }

  /** The pieces of a continuing answer; its reader destroys it. Rejects with `EtcdError`. */
  async open(call: Call, patience: Patience): Promise<IncomingMessage> {
    const until_ms = performance.now() + patience.left_ms
    const { request, response } = await this.#begin(call, patience, this.#streams)
    if (response.statusCode === 200) {
      // The reader is told; before and after that, nobody is.
      response.on('error', () => undefined)
      return response
    }
    const forget = after(until_ms - performance.now(), () => response.destroy(new LateError()))
    try {
      answered(response.statusCode ?? 0, await textFrom(response), false)
      throw new UnreadableError(NOT_ETCD)
    } catch (error) {
      throw error instanceof LateError ? this.#hung(false, patience.left_ms) : asEtcdError(error)
    } finally {
      forget()
      request.destroy()
    }
  }

  /** Shows another certificate from the next connection on; what goes on stays. */
  present({ ca, certificate, key }: Credentials): void {
    for (const agent of [this.#agent, this.#streams])
      if (agent instanceof Agent) Object.assign(agent.options, { ca, cert: certificate, key })
  }

  /** Ends everything that goes on. */
  close(): void {
    this.#agent.destroy()
    this.#streams.destroy()
  }

  /** Resolves with the head of the answer. */
  #begin(call: Call, { share_ms, left_ms }: Patience, agent: Agent | SocketAgent): Promise<Begun> {
    const isWrite = call.isWrite === true
    const body = JSON.stringify(call.fields)
    const headers = {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      // A member that is cut off says so at once, before anything is proposed, instead of trying for seconds.
      ...(call.isLocal === true ? {} : { 'Grpc-Metadata-hasleader': 'true' }),
      // The member does not go on with what nobody waits for.
      ...(agent === this.#streams ? {} : { 'Grpc-Timeout': `${Math.ceil(left_ms)}m` }),
    }
    return new Promise((resolve, reject) => {
      const sending = { isSent: false }
      const asked = { agent, path: `/v3/${call.path}`, method: 'POST', headers }
      const request = this.#isSocket
        ? http.request({ ...asked, socketPath: this.#url.pathname })
        : httpsRequest({ ...asked, host: bare(this.#url.hostname), port: this.#url.port })
      const end = (error?: EtcdError) => {
        forgetShare()
        forgetAll()
        if (error === undefined) return
        reject(error)
        request.destroy()
      }
      const tooLate = (limit_ms: number) => {
        const unsent = () => new EtcdError('unreachable', `it took no connection within ${Math.round(limit_ms)} ms`)
        end(sending.isSent ? this.#hung(isWrite, limit_ms) : unsent())
      }
      const forgetShare = after(share_ms, () => {
        if (!isWrite || !sending.isSent) tooLate(share_ms)
      })
      const forgetAll = after(left_ms, () => tooLate(left_ms))
      request.on('socket', (socket) => noteSending(socket, sending))
      request.on('error', (error: NodeJS.ErrnoException) => {
        const { isSent } = sending
        end(broken(error.code ?? error.name, { isWrite, isSent, isProven: request.reusedSocket }))
      })
      request.on('response', (response) => {
        end()
        resolve({ request, response })
      })
      request.end(body)
    })
  }

  #hung(isWrite: boolean, limit_ms: number): EtcdError {
    // Idle connections to a member that hangs would be believed by the next write, whose outcome nobody knew then.
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
    return unanswered(isWrite, `it did not answer within ${Math.round(limit_ms)} ms`)
  }
}

class LateError extends Error {}

/** What reading an answer threw. */
export function asEtcdError(error: unknown, isWrite = false): EtcdError {
  if (error instanceof EtcdError) return error
  if (error instanceof UnreadableError) return unreadable(isWrite, error.message)
  return lost(isWrite, 'its connection broke in the middle of the answer')
}

/** `node:net` wants IPv6 addresses without the brackets of URLs. */
const bare = (hostname: string) => hostname.replace(/^\[(.*)\]$/, '$1')

/** Node sends what is written when the handshake is over and the other side's certificate is accepted. */
function noteSending(socket: Socket, sending: { isSent: boolean }): void {
  const note = () => {
    sending.isSent = true
  }
  if (socket instanceof TLSSocket && !socket.authorized) socket.once('secureConnect', note)
  else note()
}

async function textFrom(response: IncomingMessage): Promise<string> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of response as AsyncIterable<Uint8Array>) {
    pieces.push(piece)
    length += piece.length
    if (length > ANSWER_BYTES_MAX) throw new UnreadableError('its answer is too long')
  }
  return Buffer.concat(pieces, length).toString()
}

/** The answer of a call, or what etcd refuses it with. */
function answered(status: number, text: string, isWrite: boolean): Fields {
  const fields = parsed(text)
  if (status === 200) return resultOf(fields, isWrite)
  if (numberOf(fields, 'code') === 0 && !('error' in fields)) throw new UnreadableError(NOT_ETCD)
  throw refusalIn(fields, isWrite)
}

/** The object of a line of a stream, or the error that etcd ends it with. */
export const streamed = (line: string): Fields => resultOf(parsed(line), false)

/** An answer of which more may follow stands in an object of its own, and so does an error in the middle of it. */
function resultOf(fields: Fields, isWrite: boolean): Fields {
  if ('error' in fields) throw refusalIn(fields, isWrite)
  return 'result' in fields ? part(fields, 'result') : fields
}

/** Two versions of the gateway word it in two ways. */
function refusalIn(fields: Fields, isWrite: boolean): EtcdError {
  const error = typeof fields['error'] === 'object' ? part(fields, 'error') : fields
  const message = textOf(error, 'message') || textOf(error, 'error')
  return refusal(numberOf(error, 'grpc_code') || numberOf(error, 'code'), message, isWrite)
}

function parsed(text: string): Fields {
  try {
    return fieldsOf(JSON.parse(text))
  } catch {
    throw new UnreadableError(NOT_ETCD)
  }
}
