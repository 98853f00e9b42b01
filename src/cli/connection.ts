import { Agent, request as send } from 'node:https'
import type { Agent as PlainAgent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { createConnection, isIP, type NetConnectOpts, type Socket } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { checkServerIdentity } from '../base/server-identity.ts'
import { http } from '../base/http.ts'
import type { Answer } from '../client/answer.ts'
import { follow, type Following, isRefused, type StreamEvent } from '../client/events.ts'
import { type Credentials, opened } from '../client/opening.ts'
import { PAGE, records } from '../client/pages.ts'
import { Foreign, Refused, refusedBy } from '../client/refused.ts'
import { tried } from '../client/trying.ts'
import { socketPathOf } from './contexts.ts'
import { Failure } from './failure.ts'
import { inOwnWords } from './own-words.ts'
import { DOUBT, mayChange, Unreachable } from './unreachable.ts'

const PREFIX = '/api/v1'
/** Long enough for an apply of the largest configuration. */
const ANSWER_MS_MAX = 120_000
const CONNECT_MS_MAX = 20_000

export interface Sent {
  readonly query?: Readonly<Record<string, string | number | undefined>> | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined
}

export interface Received<T> {
  readonly message: string
  readonly data: T
  /** For a list with further pages. */
  readonly next: string | undefined
  /** For work that continues. */
  readonly job: string | undefined
  /** For a record that was read. */
  readonly etag: string | undefined
  /** The whole answer as received. */
  readonly text: string
}

/** A refusal by the API. */
export class Refusal extends Failure {
  readonly refused: Refused

  constructor(refused: Refused, inWords = inOwnWords) {
    super(inWords(told(refused)))
    this.refused = refused
  }

  get code(): string {
    return this.refused.code
  }

  /** The refusal in the API's own words, for `fulcrum api`. */
  get inItsWords(): Refusal {
    return new Refusal(this.refused, (said) => said)
  }
}

function told({ message, code, errors, data }: Refused): string {
  // Most messages end with the first errors; that of changes which need others only refers to them.
  const isRepeated = errors.some((error) => message.includes(error.message))
  const areShown = errors.length > 1 || (errors.length === 1 && message.includes('listed in errors'))
  const lines = areShown ? errors.map((error) => `\n  ${error.field}: ${error.message}`).join('') : ''
  const said = outputsIn(data).map((line) => `\n  ${line}`)
  const [head = message] = areShown && isRepeated ? message.split(': ') : [message]
  return `${head} (${code})${lines}${said.join('')}`
}

/** Returns the output of a failed step of an apply: only the step's program may know the reason. */
function outputsIn(data: unknown): readonly string[] {
  const { nodes }: { readonly nodes?: unknown } = Object(data)
  const failed = (Array.isArray(nodes) ? nodes : []).filter((node) => Reflect.get(Object(node), 'ok') === false)
  const text = failed.map((node) => String(Reflect.get(Object(node), 'output') ?? '')).join('\n')
  return text.split('\n').filter((line) => line.trim() !== '')
}

/** A daemon: `fingerprint` identifies the only certificate to accept; undefined if it must be generally trusted. */
export interface Target {
  readonly url: string
  readonly token?: string | undefined
  readonly fingerprint?: string | undefined
}

/** The certificate of a server, before anything is sent. */
export interface Shown {
  readonly fingerprint: string
  readonly isTrusted: boolean
}

/** A connection to one daemon over HTTPS, whose certificate is checked before the first byte of a request is sent. */
export class Connection {
  readonly #target: Target
  readonly #agent: Agent | PlainAgent
  readonly #isPlain: boolean
  /** Requests under way that change something. */
  #changes = 0

  constructor(target: Target) {
    this.#target = target
    this.#isPlain = !target.url.startsWith('https:')
    this.#agent = this.#isPlain ? plain() : pinned(target)
  }

  /** What is unknown if the program ends now. */
  get doubt(): string | undefined {
    return this.#changes === 0 ? undefined : DOUBT
  }

  close(): void {
    this.#agent.destroy()
  }

  async get<T>(path: string, query: Sent['query'] = {}, signal?: AbortSignal): Promise<T> {
    const { data } = await this.ask<T | undefined>('GET', path, { query, signal })
    if (data === undefined) throw new Failure(`the server at ${this.#target.url} is not Fulcrum`)
    return data
  }

  /** Returns all pages of a list. */
  async list<T>(path: string, query: Sent['query'] = {}): Promise<readonly T[]> {
    const page = (after: string | undefined) =>
      this.ask<readonly T[]>('GET', path, { query: { ...query, limit: PAGE, after } })
    const all: T[] = []
    for await (const record of records(page)) all.push(record)
    return all
  }

  /** Logs in and returns the token of the session. */
  async logIn(credentials: Credentials): Promise<string> {
    const post = (body: object) => this.#tried('POST', '/token', { body })
    return (await opened(post, credentials).catch((error: unknown) => this.#fail(error))).token
  }

  /** Sends a request; fails with the API's refusal. */
  async ask<T>(method: string, path: string, sent: Sent = {}): Promise<Received<T>> {
    const { answer, text } = await this.#whole(method, path, sent)
    const json = parsed(text)
    if (!answer.ok) return this.#fail(refusedBy(answer.status, json))
    const { message = '', data, next, job } = json
    return { message, data: data as T, next, job, etag: answer.headers.get('etag') ?? undefined, text }
  }

  async #whole(method: string, path: string, sent: Sent) {
    const isChange = mayChange(method, path)
    if (isChange) this.#changes += 1
    try {
      const answer = await this.#tried(method, path, sent)
      const text = await answer.text().catch((error: unknown) => {
        throw new Unreachable(this.#target.url, error, { isChange })
      })
      return { answer, text }
    } finally {
      if (isChange) this.#changes -= 1
    }
  }

  /** Yields the events of a stream until the signal is aborted. Fails if the daemon is not there at the beginning. */
  async *events(
    path: string,
    query: Sent['query'],
    signal: AbortSignal,
    onState: Following['onState'] = () => undefined,
  ): AsyncGenerator<StreamEvent, void> {
    let hasBegun = false
    const open = async (last: string | undefined, attempt: AbortSignal) => {
      const headers = { accept: 'text/event-stream', ...(last === undefined ? {} : { 'last-event-id': last }) }
      const answer = await this.#send('GET', path, { query, headers, signal: attempt }, { isStream: true })
      hasBegun ||= answer.ok
      return answer
    }
    const isFinal = (error: unknown) =>
      !hasBegun || isRefused(error) || (error instanceof Failure && !(error instanceof Unreachable))
    try {
      yield* follow(open, signal, { isFinal, onState })
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): never {
    if (error instanceof Refused) throw new Refusal(error)
    throw error instanceof Foreign ? new Failure(`${this.#target.url}: ${error.message}`) : error
  }

  #tried(method: string, path: string, sent: Sent): Promise<Came> {
    const mayRepeat = (error: unknown) =>
      error instanceof Unreachable && error.isLost && (error.isUnsent || method === 'GET')
    return tried(() => this.#send(method, path, sent), { mayRepeat, signal: sent.signal })
  }

  #send(method: string, path: string, sent: Sent, { isStream = false } = {}): Promise<Came> {
    const { token, url } = this.#target
    const body = sent.body === undefined ? undefined : Buffer.from(JSON.stringify(sent.body))
    const options: RequestOptions = {
      method,
      ...wayTo(url),
      path: `${PREFIX}${path}${queryOf(sent.query)}`,
      agent: this.#agent,
      ...(isStream ? {} : { timeout: ANSWER_MS_MAX }),
      ...(sent.signal === undefined ? {} : { signal: sent.signal }),
      headers: {
        accept: 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length }),
        ...sent.headers,
      },
    }
    return new Promise((resolve, reject) => {
      const going = this.#begun(options, (message) => resolve(new Came(message)))
      going.on('timeout', () => going.destroy(new Error('no answer for two minutes')))
      going.on('error', (error) =>
        reject(error instanceof Failure ? error : new Unreachable(url, error, { isChange: mayChange(method, path) })),
      )
      going.end(body)
    })
  }

  #begun(options: RequestOptions, answered: (message: IncomingMessage) => void): ClientRequest {
    try {
      return (this.#isPlain ? http.request : send)(options, answered)
    } catch (error) {
      // A path, header or token contains a forbidden character.
      throw new Failure(`the request cannot be sent: ${error instanceof Error ? error.message : ''}`)
    }
  }
}

/** An answer from Node's own HTTP client: loading `fetch` takes as long as loading this whole program. */
class Came implements Answer {
  readonly ok: boolean
  readonly status: number
  readonly headers: Answer['headers']
  readonly body: NonNullable<Answer['body']>
  readonly #message: IncomingMessage

  constructor(message: IncomingMessage) {
    this.#message = message
    // The reader gets the error; the stream may also end when nothing reads it any more.
    message.on('error', () => undefined)
    this.status = message.statusCode ?? 0
    this.ok = this.status >= 200 && this.status < 300
    this.headers = { get: (name) => message.headers[name]?.toString() ?? null }
    this.body = {
      getReader: () => {
        const pieces: AsyncIterator<Buffer> = message[Symbol.asyncIterator]()
        return { read: () => pieces.next() }
      },
      cancel: async () => void message.resume(),
    }
  }

  async text(): Promise<string> {
    const chunks: Buffer[] = []
    for await (const chunk of this.#message) chunks.push(Buffer.from(chunk))
    return Buffer.concat(chunks).toString()
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text())
  }
}

function queryOf(query: Sent['query'] = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined)
  if (pairs.length === 0) return ''
  return `?${new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, String(value)])).toString()}`
}

interface Envelope {
  readonly message?: string
  readonly data?: unknown
  readonly next?: string
  readonly job?: string
}

function parsed(text: string): Envelope {
  try {
    const json: unknown = JSON.parse(text)
    return typeof json === 'object' && json !== null ? json : {}
  } catch {
    return {}
  }
}

/** Ignores colons and case. */
export function isSameFingerprint(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => text.trim().replaceAll(':', '').toUpperCase())
  return a === b
}

/** Connects, reads the certificate and disconnects. */
export async function shownBy(url: string): Promise<Shown> {
  const socket = await connected(url)
  try {
    return whatIsShown(socket)
  } finally {
    socket.destroy()
  }
}

function whatIsShown(socket: TLSSocket): Shown {
  return { fingerprint: socket.getPeerCertificate().fingerprint256, isTrusted: socket.authorized }
}

function wayTo(url: string): Pick<RequestOptions, 'host' | 'port' | 'socketPath'> {
  const socketPath = socketPathOf(url)
  return socketPath === undefined ? placeOf(url) : { socketPath }
}

/** Returns host, without the brackets of IPv6, and port. */
export function placeOf(url: string): { readonly host: string; readonly port: number } {
  const { protocol, hostname, port } = new URL(url)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || (protocol === 'http:' ? 80 : 443)) }
}

function connected(url: string): Promise<TLSSocket> {
  const { host, port } = placeOf(url)
  return new Promise((resolve, reject) => {
    // The caller checks whether the certificate is trusted.
    const socket = connect({
      host,
      port,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      rejectUnauthorized: false,
      checkServerIdentity,
    })
    socket.setTimeout(CONNECT_MS_MAX, () => socket.destroy(new Error('no TLS within 20 seconds')))
    socket.once('secureConnect', () => {
      socket.setTimeout(0)
      resolve(socket)
    })
    socket.on('error', (error) => reject(new Unreachable(url, error, { isUnsent: true })))
  })
}

/**
 * Handles errors of idle sockets: no request listens to a socket in the moment in which it becomes free, for instance
 * when a stream is left.
 */
function plain(): PlainAgent {
  const agent = new http.Agent({ keepAlive: true })
  agent.createConnection = (options) => createConnection(options as NetConnectOpts).on('error', () => undefined)
  return agent
}

/** Returns an agent that hands out a socket only if the certificate is the right one. */
function pinned({ url, fingerprint }: Target): Agent {
  const agent = new Agent({ keepAlive: true })
  const made = async (): Promise<Socket> => {
    const socket = await connected(url)
    const shown = whatIsShown(socket)
    if (fingerprint === undefined ? shown.isTrusted : isSameFingerprint(shown.fingerprint, fingerprint)) return socket
    socket.destroy()
    throw new Failure(
      fingerprint === undefined
        ? `the certificate of ${url} (${shown.fingerprint}) is not signed by a trusted authority: log in, or set FULCRUM_FINGERPRINT`
        : `the certificate of ${url} has changed since it was accepted: ${shown.fingerprint} instead of ${fingerprint}. If it was replaced on purpose, log in again, or set FULCRUM_FINGERPRINT`,
    )
  }
  agent.createConnection = (_options, callback) => {
    made().then(
      (socket) => callback?.(null, socket),
      (error: Error) => callback?.(error, undefined as never),
    )
    return undefined
  }
  return agent
}
