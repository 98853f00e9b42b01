import { AsyncLocalStorage } from 'node:async_hooks'
import { type LookupAddress, lookup, type LookupOptions } from 'node:dns'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { isIP } from 'node:net'
import { checkServerIdentity } from '../../src/base/server-identity.ts'
import { isInward } from '../../src/base/inward-address.ts'

const ANSWER_WITHIN_MS = 20_000
const BYTES_MAX = 1024 * 1024
const WAIT_S_MAX = 31 * 86_400

/** What a step may reach, and the outcome of its last request. */
export interface Door {
  readonly caCertificate: string | undefined
  readonly allowsLoopback: boolean
  /** Status of the last answer; undefined if none came. */
  status?: number | undefined
  /** The problem that the CA reported in its last answer, if that was a refusal. */
  problem?: string | undefined
  /** How many seconds the last answer told us to wait. */
  retryAfter_s?: number | undefined
}

export interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Answered {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** The door of the running step, found from inside any library call. */
export const doors = new AsyncLocalStorage<Door>()

/** Sends a request to a CA: over https only, never to a forbidden address, and without following redirects. */
export async function askCa({ method, url, headers, body }: Asked): Promise<Answered> {
  const door = doors.getStore()
  if (door === undefined) throw new Error('only a step of an order may contact a CA')
  Object.assign(door, { status: undefined, problem: undefined, retryAfter_s: undefined })
  const { protocol, hostname } = new URL(url)
  if (protocol !== 'https:') throw new Error(`The CA names ${url}, which is not https`)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(host) !== 0) refuseInward(host, door)
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS)
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const way = { agent: false, ca: door.caCertificate, signal, lookup: lookupFor(door), checkServerIdentity } as const
    request(url, { method, headers, ...way }, resolve)
      .on('error', reject)
      .end(body)
  })
  const answered = { status: answer.statusCode ?? 0, headers: answer.headers, text: await textOf(answer) }
  note(door, answered)
  return answered
}

function refuseInward(address: string, { allowsLoopback }: Door): void {
  if (isInward(address, allowsLoopback)) throw new Error(`The CA is at ${address}, which is not allowed for a CA`)
}

type Found = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void

/** Resolves and judges the name at every connection, because its addresses may change in between. */
const lookupFor = (door: Door) => (hostname: string, options: LookupOptions, found: Found) =>
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return found(error, '')
    try {
      for (const { address } of addresses) refuseInward(address, door)
    } catch (refusal) {
      return found(refusal as Error, '')
    }
    const [first] = addresses
    return options.all === true ? found(null, addresses) : found(null, first?.address ?? '', first?.family)
  })

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > BYTES_MAX) throw new Error(`The answer of the CA has more than ${BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function note(door: Door, { status, headers, text }: Answered): void {
  door.status = status
  door.problem = status >= 400 ? problemOf(text, status) : undefined
  door.retryAfter_s = secondsIn(headers['retry-after'])
}

/** Parses a Retry-After header, which holds seconds or a date. */
function secondsIn(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const seconds = /^\d{1,9}$/.test(header) ? Number(header) : Math.ceil((Date.parse(header) - Date.now()) / 1_000)
  return seconds > 0 ? Math.min(seconds, WAIT_S_MAX) : undefined
}

/** Describes a problem document (RFC 7807) with its subproblems, one per name. */
export function problemOf(text: string, status: number): string {
  try {
    return saidIn(JSON.parse(text)) || `answer ${status}`
  } catch {
    return `answer ${status}`
  }
}

/** Returns type and detail of a problem document as one line. */
export function saidIn(problem: unknown): string {
  if (typeof problem !== 'object' || problem === null) return ''
  const { type, detail, subproblems } = problem as Readonly<Record<string, unknown>>
  const text = (value: unknown) => (typeof value === 'string' ? value : '')
  const kind = text(type).replace(/^urn:ietf:params:acme:error:/, '')
  const own = [kind, text(detail)].filter((part) => part !== '').join(': ')
  const more = Array.isArray(subproblems) ? subproblems.map(saidIn) : []
  return [own, ...more].filter((part) => part !== '').join('; ')
}
