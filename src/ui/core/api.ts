import { signal } from '@preact/signals'
import { follow as told, type Following, type StreamEvent } from '../../client/events.ts'
import type { Credentials } from '../../client/opening.ts'
import { records } from '../../client/pages.ts'
import { refusedBy } from '../../client/refused.ts'
import { Sending } from '../../client/sending.ts'
import { Token } from '../../client/token.ts'

export { type FieldError, Refused } from '../../client/refused.ts'

/**
 * Requests to the API of the daemon that served the page, through the shared client. This file adds what the page shows
 * of them: that the daemon does not answer, that a session has ended, that a right is gone.
 */

/** Address of the API, relative to the page. */
export const BASE = 'api/v1'
export const UNPROCESSABLE = 422
const TOO_LARGE = 431
/** Codes that end a session. A wrong password or code in a form is refused with 401 as well, but ends nothing. */
const ENDED: ReadonlySet<unknown> = new Set(['UNAUTHENTICATED', 'TOKEN_EXPIRED'])
/**
 * A user is waiting: a request whose retry would come later than this in total counts as refused. A daemon restarts in
 * less.
 */
const WAIT_S_MAX = 4

/** The token is kept here only, so that nothing outlives the page. */
export const token = new Token()
/** Whether the session ended while the page was open: what was typed stays, behind a login. */
export const isLocked = signal(false)
/** Whether the daemon did not answer the last request. */
export const isAway = signal(false)
/** Counts requests that the user's rights did not cover. */
export const refused = signal(0)
/** Counts changes of the configuration, pending or running: components that show records read them again. */
export const changes = signal(0)
/** Number of requests that wait for their answer; streams do not count. */
export const underWay = signal(0)

export interface Answer<T> {
  readonly data: T
  readonly message: string
  /** Position of the next page of a list. */
  readonly next: string | undefined
  /** Id of a job that continues. */
  readonly job: string | undefined
  readonly etag: string | undefined
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>

export interface Sent {
  readonly query?: Query
  readonly body?: unknown
  readonly ifMatch?: string | undefined
  readonly transaction?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** A request without an answer. */
export class Away extends Error {
  /** Whether the request may have been carried out although its answer was lost; never true for reads. */
  readonly mayBeDone: boolean

  constructor(mayBeDone: boolean) {
    super('the daemon does not answer')
    this.mayBeDone = mayBeDone
  }
}

export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

interface Envelope {
  readonly message?: string
  readonly data?: unknown
  readonly next?: string
  readonly job?: string
}

const addressOf = (path: string, query: Query = {}): string => {
  const pairs = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  )
  return `${BASE}${path}${pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`}`
}

const sending = new Sending(
  {
    base: BASE,
    wait_s_max: WAIT_S_MAX,
    fetch: async (request) => {
      try {
        const response = await fetch(request)
        isAway.value = false
        return response
      } catch (error) {
        if (!request.signal.aborted) isAway.value = true
        throw error
      }
    },
  },
  token,
)

async function send(method: string, path: string, sent: Sent): Promise<Response> {
  const { query, body, ifMatch, transaction, headers, signal: aborted } = sent
  const request = new Request(addressOf(path, query), {
    method,
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
      ...(transaction === undefined ? {} : { 'x-transaction-id': transaction }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(aborted === undefined ? {} : { signal: aborted }),
  })
  const response = await sending.send(request)
  if (response.status === 401 && token.value !== undefined) await lockIfEnded(response.clone())
  if (response.status === 403) refused.value += 1
  return response
}

async function lockIfEnded(response: Response): Promise<void> {
  const { code } = Object(await response.json().catch(() => undefined)) as { readonly code?: unknown }
  if (ENDED.has(code)) isLocked.value = true
}

/** `fetch` throws a TypeError if there was no answer. */
const awayFrom =
  (mayBeDone: boolean) =>
  (error: unknown): never => {
    throw error instanceof TypeError ? new Away(mayBeDone) : error
  }

/** Later requests belong to the session. Throws as `ask` does. */
export const openSession = (credentials: Credentials): Promise<unknown> =>
  sending.logIn(credentials).catch(awayFrom(false))

/** Throws the API's refusal, or `Away`. */
export async function ask<T>(method: string, path: string, sent: Sent = {}): Promise<Answer<T>> {
  // Effects call this as well, and must not run again because of it.
  underWay.value = underWay.peek() + 1
  const [response, json] = await answerTo(method, path, sent).finally(() => (underWay.value = underWay.peek() - 1))
  if (!response.ok) throw refusedBy(response.status, json)
  const etag = response.headers.get('etag') ?? undefined
  return { data: json.data as T, message: json.message ?? '', next: json.next, job: json.job, etag }
}

async function answerTo(method: string, path: string, sent: Sent): Promise<readonly [Response, Envelope]> {
  const response = await send(method, path, sent).catch(awayFrom(method !== 'GET'))
  return [response, await envelopeOf(response)]
}

async function envelopeOf(response: Response): Promise<Envelope> {
  const text = await response.text()
  try {
    const json: unknown = JSON.parse(text)
    return typeof json === 'object' && json !== null && 'status' in json ? (json as Envelope) : { data: json }
  } catch {
    return response.ok ? { data: text } : {}
  }
}

export const read = async <T>(path: string, query: Query = {}): Promise<T> =>
  (await ask<T>('GET', path, { query })).data

/** The maximum number of records in an answer of the API. */
export const PAGE = 1_000

/** Returns all pages of a list, or those after a position. */
export async function readAll<T>(path: string, query: Query = {}, from?: string): Promise<readonly T[]> {
  const all: T[] = []
  const page = (after: string | undefined) =>
    ask<readonly T[]>('GET', path, { query: { limit: PAGE, ...query, after: after ?? from } })
  for await (const record of records(page)) all.push(record)
  return all
}

export type StreamState = Parameters<NonNullable<Following['onState']>>[0]

interface Followed extends Pick<Following, 'onState'> {
  readonly query?: Query
  readonly onEvent: (event: StreamEvent) => void
  /** Called if a requested object does not exist, or if the request is too long; it is repeated nevertheless. */
  readonly onRefused?: () => void
}

/** Follows a stream until the returned function is called; reconnects whenever it breaks off. */
export function follow(path: string, { query = {}, onEvent, onState, onRefused }: Followed): () => void {
  const stop = new AbortController()
  async function run(): Promise<void> {
    const open = async (last: string | undefined, aborted: AbortSignal) => {
      const headers = { accept: 'text/event-stream', ...(last === undefined ? {} : { 'last-event-id': last }) }
      const response = await send('GET', path, { query, headers, signal: aborted })
      if (response.status === UNPROCESSABLE || response.status === TOO_LARGE) onRefused?.()
      return response
    }
    const how = { isFinal: () => false, ...(onState === undefined ? {} : { onState }) }
    for await (const event of told(open, stop.signal, how)) onEvent(event)
  }
  void run()
  return () => stop.abort()
}
