import { createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { checkServerIdentity } from '../../src/base/server-identity.ts'
import type { AlertMessage, AlertTarget, Sending } from '../../src/model/alerts.ts'
import { VERSION } from '../../src/base/version.ts'
import { Failed, placeOf, reasonOf, type Way } from './attempt.ts'
import { bodyOf } from './templates.ts'

const ANSWER_WITHIN_MS = 15_000
const SAID_BYTES_MAX = 2_048
/** Statuses that reject the message itself: a retry would fail as well. */
const UNWANTED = new Set([400, 413, 415, 422])
const SECONDS_MAX = 86_400

export const webhookWay: Way = async function* webhookWay(sending) {
  for (const message of sending.messages) {
    await post(message, sending)
    yield 1
  }
}

async function post(message: AlertMessage, sending: Sending): Promise<void> {
  const { target } = sending
  const url = new URL(target.url ?? '')
  const { lookup } = await placeOf(url.hostname, sending)
  const body = JSON.stringify(bodyOf(message, target.template ?? 'json'))
  const options = {
    method: 'POST',
    headers: headersOf(message, target, body),
    agent: false,
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    ca: target.caCertificate,
    minVersion: 'TLSv1.2',
    checkServerIdentity,
    lookup,
  } as const
  let answer: IncomingMessage
  try {
    answer = await new Promise<IncomingMessage>((resolve, reject) => {
      request(url, options, resolve).on('error', reject).end(body)
    })
  } catch (error) {
    throw new Failed('connect', reasonOf(error))
  }
  await judge(answer)
}

/** The headers of Standard Webhooks, so that receivers can verify messages with its libraries. */
function headersOf(message: AlertMessage, { secret, headers = [] }: AlertTarget, body: string) {
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const signed = secret === undefined ? {} : { 'webhook-signature': signatureOf(message.id, timestamp, body, secret) }
  return {
    ...Object.fromEntries(headers.map(({ name, value }) => [name, value])),
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': `Fulcrum/${VERSION}`,
    'webhook-id': message.id,
    'webhook-timestamp': timestamp,
    ...signed,
  }
}

/** A secret that begins with whsec_ is base64. */
function signatureOf(id: string, timestamp: string, body: string, secret: string): string {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : secret
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
}

/** Redirects are not followed: only the named target receives the message. */
async function judge(answer: IncomingMessage): Promise<void> {
  const status = answer.statusCode ?? 0
  const said = await saidBy(answer)
  if (status >= 200 && status < 300) return
  const text = said === '' ? '' : `: ${said}`
  if (status >= 300 && status < 400) throw new Failed('send', `The answer is ${status}: redirects are not followed`)
  const stage = status === 401 || status === 403 ? 'authenticate' : 'send'
  const retryAfter_s = secondsIn(answer.headers['retry-after'])
  throw new Failed(stage, `The answer is ${status}${text}`, { retryAfter_s, isFinal: UNWANTED.has(status) })
}

/** Returns the beginning of the body without waiting for the rest. */
async function saidBy(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > SAID_BYTES_MAX) break
    }
  } catch {
    // The status has arrived, and that is what counts.
  }
  answer.destroy()
  return Buffer.concat(chunks).toString()
}

/** Parses a Retry-After header, which holds seconds or a date. */
function secondsIn(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const seconds = /^\d{1,9}$/.test(header) ? Number(header) : Math.ceil((Date.parse(header) - Date.now()) / 1_000)
  return seconds > 0 ? Math.min(seconds, SECONDS_MAX) : undefined
}
