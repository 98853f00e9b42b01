import { Type } from 'typebox'

/**
 * A long answer, made a little at a time. A slice is valid until the next is asked for. What is returned at the end says why
 * the answer could not be completed; `undefined` when it is whole.
 */
export type Slices = Iterator<Uint8Array, string | undefined>

/** Where an answer without an end is written to. */
export interface StreamSink {
  /** A client that does not take what is written to it is cut off. */
  write(text: string): void
  end(): void
}

/** Writes to the sink for as long as the client stays; the answer is called when it is gone. */
export type Stream = (sink: StreamSink) => () => void

/** Bytes that were rendered beforehand: the whole answer, envelope included. */
export interface Rendered {
  /** 200, or where else the answer is: its header Location says it. */
  readonly status?: 303
  readonly body: Uint8Array | string
  /** The next answer is written over the bytes: they are sent at once, and copied by whoever keeps them. */
  readonly isTransient?: true
  /** Instead of `body`: made while it is sent. When it cannot be completed, the connection is closed. */
  readonly slices?: () => Slices
  /** Instead of `body`: an answer without an end. */
  readonly stream?: Stream
  /** Names of the request headers that choose between forms of this answer, for `Vary`. */
  readonly vary?: string
  readonly contentType?: string
  /** Quoted entity tag; a matching If-None-Match is answered with 304. */
  readonly etag?: string | undefined
  readonly cacheControl?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface ReplyOptions {
  /** Instead of the endpoint's. */
  readonly status?: 200 | 202
  readonly message?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly beside?: Readonly<Record<string, unknown>>
}

/** What a handler answers when plain data is not enough. */
export class Reply<T> {
  readonly data: T | undefined
  readonly rendered: Rendered | undefined
  /** Replaces the endpoint's message. */
  readonly message: string | undefined
  readonly status: 200 | 202 | undefined
  readonly headers: Readonly<Record<string, string>>
  /** Fields of the envelope beside `data`, which the endpoint declares. */
  readonly beside: Readonly<Record<string, unknown>>
  private constructor(
    data: T | undefined,
    rendered: Rendered | undefined,
    { message, status, headers, beside }: ReplyOptions,
  ) {
    this.data = data
    this.rendered = rendered
    this.message = message
    this.status = status
    this.headers = headers ?? {}
    this.beside = beside ?? {}
  }
  /** An answer that was rendered beforehand and is sent as it is. */
  static bytes(rendered: Rendered): Reply<never> {
    return new Reply<never>(undefined, rendered, {})
  }
  static with<T>(data: T, options: ReplyOptions): Reply<T> {
    return new Reply(data, undefined, options)
  }
}

/** An answer that says, in a header as well, that the profile keeps hands off the machine. */
export function dryRun<T>(data: T, message: string): Reply<T> {
  return Reply.with(data, { message, headers: { 'X-Dry-Run': 'true' } })
}

/** `data` of what goes on as a job. */
export const StartedJob = Type.Object({ job: Type.String({ description: 'Job that goes on, see GET /jobs/{id}.' }) })

/** 202: the work goes on as a job. */
export function accepted(job: string, options: Omit<ReplyOptions, 'status'> = {}): Reply<{ readonly job: string }> {
  const headers = { ...options.headers, Location: `/api/v1/jobs/${job}` }
  return Reply.with({ job }, { ...options, status: 202, headers })
}

const PLACEHOLDER = /\{(\w+)\}/g

/** The names of the {placeholders} in a message. */
export function placeholders(message: string): readonly string[] {
  return [...message.matchAll(PLACEHOLDER)].map((match) => match[1] ?? '')
}

/** Fills {placeholders} from the path parameters and the fields of `data`. */
export function fillMessage(message: string, params: Readonly<Record<string, string>>, data: unknown): string {
  if (!message.includes('{')) return message
  return message.replace(PLACEHOLDER, (whole, name: string) => {
    const fromData = typeof data === 'object' && data !== null ? Reflect.get(data, name) : undefined
    const value: unknown = params[name] ?? fromData
    return typeof value === 'string' || typeof value === 'number' ? String(value) : whole
  })
}
