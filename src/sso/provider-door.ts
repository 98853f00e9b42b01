import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { checkServerIdentity } from '../base/server-identity.ts'
import { outwardPlace } from '../base/outward-place.ts'
import { VERSION } from '../base/version.ts'

const BYTES_MAX = 512 * 1024

export interface DoorRules {
  /** Certificate authorities to trust instead of the common ones; empty for those. */
  readonly caCertificate: string
  readonly allowsLoopback: boolean
  /** Time limit for one request with its answer. */
  readonly within_ms: number
}

export interface ProviderAsked {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

/**
 * Returns a function in the form of `fetch`, as libraries need it, for requests to an identity provider: only over
 * https, only to permitted addresses, without redirects, and with limits for bytes and time.
 */
export function doorTo(rules: DoorRules): (url: string, asked: ProviderAsked) => Promise<Response> {
  return async (url, asked) => {
    const signal = AbortSignal.timeout(rules.within_ms)
    // Name look-ups cannot be aborted, hence the race.
    const late = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error(`no answer within ${rules.within_ms} ms`)), {
        once: true,
      })
    })
    return Promise.race([ask(new URL(url), asked, rules, signal), late])
  }
}

async function ask(url: URL, { method, headers, body }: ProviderAsked, rules: DoorRules, signal: AbortSignal) {
  if (url.protocol !== 'https:') throw new Error(`${url.host} must be contacted by https`)
  const { lookup } = await outwardPlace(url.hostname, {
    allowsLoopback: rules.allowsLoopback,
    allowed: [],
    refusal: 'no identity provider may be',
  })
  const sent = body instanceof URLSearchParams ? String(body) : ''
  const length = sent === '' ? {} : { 'content-length': String(Buffer.byteLength(sent)) }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = {
      method,
      headers: { ...headers, ...length, 'user-agent': `Fulcrum/${VERSION}` },
      agent: false,
      signal,
      lookup,
      minVersion: 'TLSv1.2',
      checkServerIdentity,
      ...(rules.caCertificate === '' ? {} : { ca: rules.caCertificate }),
    } as const
    request(url, options, resolve).on('error', reject).end(sent)
  })
  const said = await bytesOf(answer)
  const status = answer.statusCode ?? 0
  // A Response with these statuses must have no body.
  return new Response(status === 204 || status === 304 ? null : said, {
    status,
    headers: { 'content-type': answer.headers['content-type'] ?? '' },
  })
}

async function bytesOf(answer: IncomingMessage): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > BYTES_MAX) throw new Error(`the answer has more than ${BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return new Uint8Array(Buffer.concat(chunks))
}
