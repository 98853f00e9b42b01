import { signal } from '@preact/signals'

/** Requests to the API of the daemon that served the page. The token is kept here, and in nothing that outlives it. */

const BASE = 'api/v1'

export const token = signal<string | undefined>(undefined)
/** The session ended while the page was open: what was typed stays, behind a login. */
export const isLocked = signal(false)
/** The daemon did not answer the last request. */
export const isAway = signal(false)
/** Rises with each request that the rights of its user do not cover. */
export const refused = signal(0)
/** Rises with each change of what is configured, pending or running: who shows records reads them again. */
export const changes = signal(0)

export interface FieldError {
  readonly field: string
  readonly code: string
  readonly message: string
}

export interface Answer<T> {
  readonly data: T
  readonly message: string
  /** Where a list goes on. */
  readonly next: string | undefined
  /** Id of a job that goes on. */
  readonly job: string | undefined
  readonly etag: string | undefined
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>

export interface Sent {
  readonly query?: Query
  readonly body?: unknown
  readonly ifMatch?: string | undefined
  readonly transaction?: string | undefined
  readonly signal?: AbortSignal
  /** Nobody is logged in yet, or wants to be: 401 is an answer like any other. */
  readonly isLogin?: boolean
}

/** The API refused: `errors` name the fields of the request. */
export class Refused extends Error {
  readonly status: number
  readonly code: string
  readonly errors: readonly FieldError[]
  readonly data: unknown

  constructor(status: number, { code = '', message = '', errors = [], data }: Envelope) {
    super(message === '' ? `HTTP ${status}` : message)
    this.status = status
    this.code = code
    this.errors = errors
    this.data = data
  }
}

/** Nobody answered. */
export class Away extends Error {}

export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

interface Envelope {
  readonly message?: string
  readonly code?: string
  readonly errors?: readonly FieldError[]
  readonly data?: unknown
  readonly next?: string
  readonly job?: string
}

export const addressOf = (path: string, query: Query = {}): string => {
  const pairs = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  )
  return `${BASE}${path}${pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`}`
}

function headersOf({ body, ifMatch, transaction }: Sent): Record<string, string> {
  return {
    accept: 'application/json',
    ...(token.value === undefined ? {} : { authorization: `Bearer ${token.value}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
    ...(transaction === undefined ? {} : { 'x-transaction-id': transaction }),
  }
}

/** Throws `Refused` or `Away`. */
export async function ask<T>(method: string, path: string, sent: Sent = {}): Promise<Answer<T>> {
  const { body, signal: aborted, isLogin = false } = sent
  let response: Response
  try {
    response = await fetch(addressOf(path, sent.query), {
      method,
      headers: headersOf(sent),
      credentials: 'same-origin',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(aborted === undefined ? {} : { signal: aborted }),
    })
  } catch (error) {
    if (aborted?.aborted === true) throw error
    isAway.value = true
    throw new Away('the daemon does not answer')
  }
  isAway.value = false
  const json = await envelopeOf(response)
  if (response.ok) {
    const etag = response.headers.get('etag') ?? undefined
    return { data: json.data as T, message: json.message ?? '', next: json.next, job: json.job, etag }
  }
  told(response.status, isLogin)
  throw new Refused(response.status, json)
}

/** What an answer that refuses says about the session. */
function told(status: number, isLogin: boolean): void {
  if (status === 401 && !isLogin && token.value !== undefined) isLocked.value = true
  if (status === 403) refused.value += 1
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

/** All pages of a list. */
export async function readAll<T>(path: string, query: Query = {}): Promise<readonly T[]> {
  const all: T[] = []
  for (let after: string | undefined; ;) {
    const page = await ask<readonly T[]>('GET', path, { query: { limit: 1000, ...query, after } })
    all.push(...page.data)
    if (page.next === undefined) return all
    after = page.next
  }
}
