import { Agent, request as send } from 'node:https'
import { Agent as PlainAgent, type IncomingMessage, request as sendPlain, type RequestOptions } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type TLSSocket } from 'node:tls'
import { isIP } from 'node:net'
import { socketPathOf } from './contexts.ts'
import { Failure } from './failure.ts'

const PREFIX = '/api/v1'
/** Long enough for an apply of the largest configuration. */
const ANSWER_MS_MAX = 120_000
const CONNECT_MS_MAX = 20_000
const TRIES_MAX = 4
const RETRY_S_MAX = 10

export interface Sent {
  readonly query?: Readonly<Record<string, string | number | undefined>> | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Received<T> {
  readonly message: string
  readonly data: T
  /** Of a list that goes on. */
  readonly next: string | undefined
  /** Of work that goes on. */
  readonly job: string | undefined
  /** The whole answer, as it came. */
  readonly text: string
}

/** What an answer that refuses says. */
export interface Refusal {
  readonly code: string
  readonly message: string
  readonly errors?: readonly { readonly field: string; readonly code: string; readonly message: string }[]
  readonly data?: unknown
}

/** The API refused. */
export class Refused extends Failure {
  readonly status: number
  readonly refusal: Refusal

  constructor(status: number, refusal: Refusal) {
    super(told(refusal))
    this.status = status
    this.refusal = refusal
  }
}

/** Nobody answered. */
export class Unreachable extends Failure {}

/** What the API's parameters are called here. */
export const OWN_WORDS = [
  ['apply without refuseWarnings', 'apply with --accept-warnings'],
  ['send confirmWithin', 'apply with --confirm 60s'],
  ['plan with takeOver', 'plan with --take-over'],
  ['{"changes": [ids]}', '--only ID'],
  ['{"mine": true}', '--mine'],
  ['DELETE /services/pending?mine=true', 'fulcrum discard --mine'],
  ['DELETE /services/pending/{changeId}', 'fulcrum discard ID'],
] as const

function told({ message, code, errors = [] }: Refusal): string {
  const lines = errors.length > 1 ? errors.map((error) => `\n  ${error.field}: ${error.message}`).join('') : ''
  const whole = `${lines === '' ? message : (message.split(': ')[0] ?? message)} (${code})${lines}`
  return OWN_WORDS.reduce((text, [theirs, own]) => text.replaceAll(theirs, own), whole)
}

/** Who is asked: `fingerprint` is the one certificate that is taken, undefined for one that is generally trusted. */
export interface Target {
  readonly url: string
  readonly token?: string | undefined
  readonly fingerprint?: string | undefined
}

/** What a server shows before anything was sent to it. */
export interface Shown {
  readonly fingerprint: string
  readonly isTrusted: boolean
}

/** One daemon over HTTPS, whose certificate is compared before the first byte of a request leaves. */
export class Connection {
  readonly #target: Target
  readonly #agent: Agent | PlainAgent
  readonly #isPlain: boolean

  constructor(target: Target) {
    this.#target = target
    this.#isPlain = !target.url.startsWith('https:')
    this.#agent = this.#isPlain ? new PlainAgent({ keepAlive: true }) : pinned(target)
  }

  close(): void {
    this.#agent.destroy()
  }

  async get<T>(path: string, query: Sent['query'] = {}): Promise<T> {
    const { data } = await this.ask<T | undefined>('GET', path, { query })
    if (data === undefined) throw new Failure(`what answers at ${this.#target.url} is no Fulcrum`)
    return data
  }

  /** All pages of a list. */
  async list<T>(path: string, query: Sent['query'] = {}): Promise<readonly T[]> {
    const all: T[] = []
    for (let after: string | undefined; ;) {
      const page = await this.ask<readonly T[]>('GET', path, { query: { ...query, limit: 1000, after } })
      all.push(...page.data)
      if (page.next === undefined) return all
      after = page.next
    }
  }

  /** Refuses with what the API says. What is busy for the moment is asked again, as long as that changes nothing. */
  async ask<T>(method: string, path: string, sent: Sent = {}): Promise<Received<T>> {
    for (let tries = 1; ; tries++) {
      const answer = await this.#send(method, path, sent)
      const text = await bodyOf(answer)
      const { statusCode: status = 0, headers } = answer
      const json = parsed(text)
      if (status < 300) {
        const { message = '', data, next, job } = json
        return { message, data: data as T, next, job, text }
      }
      if (json.code === undefined)
        throw new Failure(`the server answers ${status}, and is no Fulcrum: ${this.#target.url}`)
      const wait_s = Number(headers['retry-after'] ?? NaN)
      const isBusy = status === 429 || json.code === 'APPLY_IN_PROGRESS'
      if (!isBusy || !(wait_s <= RETRY_S_MAX) || tries >= TRIES_MAX)
        throw new Refused(status, { ...json, code: json.code, message: json.message ?? '' })
      await sleep(wait_s * 1000)
    }
  }

  /** Events of a stream, until it ends or is aborted. */
  async *events(path: string, query: Sent['query'], signal: AbortSignal): AsyncGenerator<Event, void> {
    const answer = await this.#send('GET', path, { query, headers: { accept: 'text/event-stream' } }, signal)
    if (answer.statusCode !== 200) {
      const json = parsed(await bodyOf(answer))
      throw new Refused(answer.statusCode ?? 0, { code: json.code ?? '', message: json.message ?? '' })
    }
    let buffered = ''
    answer.setEncoding('utf8')
    try {
      for await (const chunk of answer) {
        buffered += String(chunk)
        const blocks = buffered.split('\n\n')
        buffered = blocks.pop() ?? ''
        for (const block of blocks) {
          const event = eventIn(block)
          if (event !== undefined) yield event
        }
      }
    } catch (error) {
      if (!signal.aborted) throw new Unreachable(`the stream of ${this.#target.url} broke off: ${reasonOf(error)}`)
    }
  }

  #send(method: string, path: string, sent: Sent, signal?: AbortSignal): Promise<IncomingMessage> {
    const { token, url } = this.#target
    const body = sent.body === undefined ? undefined : Buffer.from(JSON.stringify(sent.body))
    const options: RequestOptions = {
      method,
      ...wayTo(url),
      path: `${PREFIX}${path}${queryOf(sent.query)}`,
      agent: this.#agent,
      ...(signal === undefined ? { timeout: ANSWER_MS_MAX } : { signal }),
      headers: {
        accept: 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length }),
        ...sent.headers,
      },
    }
    return new Promise((resolve, reject) => {
      const going = (this.#isPlain ? sendPlain : send)(options, resolve)
      going.on('timeout', () => going.destroy(new Error('no answer for two minutes')))
      going.on('error', (error) =>
        reject(error instanceof Failure ? error : new Unreachable(`${url} cannot be reached: ${reasonOf(error)}`)),
      )
      going.end(body)
    })
  }
}

export interface Event {
  readonly id: string
  readonly event: string
  readonly data: string
}

function eventIn(block: string): Event | undefined {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const at = line.indexOf(':')
    if (at <= 0) continue
    const [name, value] = [line.slice(0, at), line.slice(at + 1).replace(/^ /, '')]
    fields.set(name, name === 'data' && fields.has(name) ? `${fields.get(name)}\n${value}` : value)
  }
  const data = fields.get('data')
  return data === undefined ? undefined : { id: fields.get('id') ?? '', event: fields.get('event') ?? 'message', data }
}

function queryOf(query: Sent['query'] = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined)
  if (pairs.length === 0) return ''
  return `?${new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, String(value)])).toString()}`
}

async function bodyOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString()
}

interface Envelope extends Partial<Refusal> {
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

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there',
  ENOENT: 'there is no such socket',
  EACCES: 'it is not yours to open',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name is not resolved',
  ECONNRESET: 'the connection was reset',
  EHOSTUNREACH: 'there is no way to it',
  ETIMEDOUT: 'it does not answer',
}

function reasonOf(error: unknown): string {
  const code: unknown = Reflect.get(Object(error), 'code')
  return REASONS[String(code)] ?? (error instanceof Error && error.message !== '' ? error.message : String(code))
}

/** Connects, looks at the certificate and leaves. */
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

/** Host, without the brackets of IPv6, and port. */
export function placeOf(url: string): { readonly host: string; readonly port: number } {
  const { protocol, hostname, port } = new URL(url)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || (protocol === 'http:' ? 80 : 443)) }
}

function connected(url: string): Promise<TLSSocket> {
  const { host, port } = placeOf(url)
  return new Promise((resolve, reject) => {
    // Whether it is trusted is looked at by whoever asked.
    const socket = connect({
      host,
      port,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      rejectUnauthorized: false,
    })
    socket.setTimeout(CONNECT_MS_MAX, () => socket.destroy(new Error('no TLS within 20 seconds')))
    socket.once('secureConnect', () => {
      socket.setTimeout(0)
      resolve(socket)
    })
    socket.once('error', (error) => reject(new Unreachable(`${url} cannot be reached: ${reasonOf(error)}`)))
  })
}

/** Its sockets are handed out when the certificate is the right one. */
function pinned({ url, fingerprint }: Target): Agent {
  const agent = new Agent({ keepAlive: true })
  const made = async (): Promise<Socket> => {
    const socket = await connected(url)
    const shown = whatIsShown(socket)
    if (fingerprint === undefined ? shown.isTrusted : shown.fingerprint === fingerprint) return socket
    socket.destroy()
    throw new Failure(
      fingerprint === undefined
        ? `no authority that this machine trusts vouches for ${url}, which shows ${shown.fingerprint}: log in, or set FULCRUM_FINGERPRINT`
        : `${url} shows another certificate than at the login: ${shown.fingerprint}, and not ${fingerprint}. If it was replaced on purpose, log in again`,
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
