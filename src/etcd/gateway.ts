import type { Agent as SocketAgent, ClientRequest, IncomingMessage } from 'node:http'
import { Agent, type AgentOptions, request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { checkServerIdentity } from '../base/server-identity.ts'
import { after } from '../base/after.ts'
import { http } from '../base/http.ts'
import { broken, EtcdError, lost, refusal, unanswered, unreadable } from './errors.ts'
import { type Fields, fieldsOf, numberOf, part, textOf, UnreadableError } from './fields.ts'

/** In PEM, or DER where Node accepts it. */
export interface Credentials {
  /** The authority of the members' certificates. */
  readonly ca: string | Buffer
  readonly certificate: string | Buffer
  readonly key: string | Buffer
}

/** A call to etcd, for whichever member takes it. */
export interface Call {
  /** The path behind `/v3/`. */
  readonly path: string
  readonly fields: Fields
  /** Whether the call must not be executed twice. */
  readonly isWrite?: boolean
  /** Whether the member answers it alone, even without a leader. */
  readonly isLocal?: boolean
}

/** Limits in milliseconds from now. */
export interface Patience {
  /**
   * The time before the next member is tried: for the connection and, with a read, for the first byte of the answer.
   */
  readonly share_ms: number
  /** The time for the whole call. */
  readonly left_ms: number
}

const NOT_ETCD = 'its answer is not from etcd'
/** etcd's limit for a request, 1.5 MiB, is far below; a range can be long. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024
const CONNECTIONS_MAX = 32
const IDLE_CONNECTIONS_MAX = 4

interface Begun {
  readonly request: ClientRequest
  readonly response: IncomingMessage
}

/**
 * The JSON gateway of one member. Errors of the connection distinguish whether the request may have been executed: it
 * was not if the other side had not accepted the connection.
 */
export class Gateway {
  /** The address as shown in messages. */
  readonly address: string
  readonly #url: URL
  /** Whether the address is a local socket, where the file's mode controls access. */
  readonly #isSocket: boolean
  readonly #agent: Agent | SocketAgent
  /** A separate agent, as streams last long and must not take the connections of calls. */
  readonly #streams: Agent | SocketAgent

  /** `url`: `https://HOST:PORT`, or `unix:///PATH`, where no certificate is presented. */
  constructor(url: string, { ca, certificate, key }: Credentials) {
    this.#url = new URL(url)
    this.#isSocket = this.#url.protocol === 'unix:'
    if (!this.#isSocket && this.#url.protocol !== 'https:')
      throw new Error(`${url} is not the address of a gateway: https is required`)
    this.address = this.#isSocket ? this.#url.pathname : this.#url.host
    const tls = { ca, cert: certificate, key, minVersion: 'TLSv1.3' as const, checkServerIdentity }
    const agent = (options: AgentOptions) =>
      this.#isSocket ? new http.Agent(options) : new Agent({ ...tls, ...options })
    this.#agent = agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX, maxFreeSockets: IDLE_CONNECTIONS_MAX })
    this.#streams = agent({ keepAlive: false })
  }

  /** Returns the answer to a call. Rejects with `EtcdError`. */
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

  /** Returns the pieces of a continuing answer; its reader destroys it. Rejects with `EtcdError`. */
  async open(call: Call, patience: Patience): Promise<IncomingMessage> {
    const until_ms = performance.now() + patience.left_ms
    const { request, response } = await this.#begin(call, patience, this.#streams)
    if (response.statusCode === 200) {
      // A reader gets the error from its iteration; without a reader, the error must not be thrown.
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

  /** Presents another certificate from the next connection on; open connections stay. */
  present({ ca, certificate, key }: Credentials): void {
    for (const agent of [this.#agent, this.#streams])
      if (agent instanceof Agent) Object.assign(agent.options, { ca, cert: certificate, key })
  }

  /** Ends all connections. */
  close(): void {
    this.#agent.destroy()
    this.#streams.destroy()
  }

  /** Sends the call; resolves with the head of the answer. */
  #begin(call: Call, { share_ms, left_ms }: Patience, agent: Agent | SocketAgent): Promise<Begun> {
    const isWrite = call.isWrite === true
    const body = JSON.stringify(call.fields)
    const headers = {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      // With this header a member that is cut off refuses at once, before anything is proposed, instead of trying for
      // seconds.
      ...(call.isLocal === true ? {} : { 'Grpc-Metadata-hasleader': 'true' }),
      // The member stops working on a request when its caller no longer waits.
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
        const unsent = () => new EtcdError('unreachable', `it accepted no connection within ${Math.round(limit_ms)} ms`)
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
    // Idle connections to a member that hangs are closed: the next write would trust one, and its outcome would be
    // unknown.
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
    return unanswered(isWrite, `it did not answer within ${Math.round(limit_ms)} ms`)
  }
}

class LateError extends Error {}

/** Converts an error from reading an answer. */
export function asEtcdError(error: unknown, isWrite = false): EtcdError {
  if (error instanceof EtcdError) return error
  if (error instanceof UnreadableError) return unreadable(isWrite, error.message)
  return lost(isWrite, 'its connection broke in the middle of the answer')
}

/** Removes the brackets that URLs put around IPv6 addresses, as `node:net` expects none. */
const bare = (hostname: string) => hostname.replace(/^\[(.*)\]$/, '$1')

/**
 * Records when the request may have been sent: Node sends it after the handshake, once the other side's certificate is
 * accepted.
 */
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

/** Returns the answer to a call, or throws etcd's refusal. */
function answered(status: number, text: string, isWrite: boolean): Fields {
  const fields = parsed(text)
  if (status === 200) return resultOf(fields, isWrite)
  if (numberOf(fields, 'code') === 0 && !('error' in fields)) throw new UnreadableError(NOT_ETCD)
  throw refusalIn(fields, isWrite)
}

/** Returns the object in a line of a stream, or throws the error with which etcd ends it. */
export const streamed = (line: string): Fields => resultOf(parsed(line), false)

/** Unwraps an answer: in a continuing one, each object is under `result`, and an error in the middle under `error`. */
function resultOf(fields: Fields, isWrite: boolean): Fields {
  if ('error' in fields) throw refusalIn(fields, isWrite)
  return 'result' in fields ? part(fields, 'result') : fields
}

/** Reads a refusal in either of the gateway's two formats. */
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
