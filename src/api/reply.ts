import type { Started } from '../context/machine-care.ts'
import type { Rendered } from '../context/rendered.ts'

export interface ReplyOptions {
  /** Overrides the endpoint's status. */
  readonly status?: 200 | 202 | undefined
  readonly message?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly beside?: Readonly<Record<string, unknown>>
  /** Id of the created record, if the data does not begin with it. */
  readonly created?: string | undefined
}

/** The records of a long list, and the function that renders each when its turn comes. */
export interface Each {
  readonly records: readonly unknown[]
  readonly told: (record: unknown) => unknown
}

/** A handler's result where plain data is not enough. */
export class Reply<T> {
  readonly data: T | undefined
  readonly rendered: Rendered | undefined
  /** For an endpoint with a `list`, in place of data. */
  readonly each: Each | undefined
  /** Overrides the endpoint's message. */
  readonly message: string | undefined
  readonly status: 200 | 202 | undefined
  readonly headers: Readonly<Record<string, string>>
  /** Declared fields of the envelope beside `data`. */
  readonly beside: Readonly<Record<string, unknown>>
  readonly created: string | undefined
  private constructor(
    data: T | undefined,
    rendered: Rendered | undefined,
    each: Each | undefined,
    { message, status, headers, beside, created }: ReplyOptions,
  ) {
    this.data = data
    this.rendered = rendered
    this.each = each
    this.message = message
    this.status = status
    this.headers = headers ?? {}
    this.beside = beside ?? {}
    this.created = created
  }
  /** Returns an answer that was rendered beforehand and is sent unchanged. */
  static bytes(rendered: Rendered): Reply<never> {
    return new Reply<never>(undefined, rendered, undefined, {})
  }
  static with<T>(data: T, options: ReplyOptions): Reply<T> {
    return new Reply(data, undefined, undefined, options)
  }
  static each<R, T>(records: readonly R[], told: (record: R) => T): Reply<T[]> {
    return new Reply<T[]>(undefined, undefined, { records, told: told as Each['told'] }, {})
  }
}

/** Returns an answer that says, in a header as well, that the profile does not touch the machine. */
export function dryRun<T>(data: T, message: string): Reply<T> {
  return Reply.with(data, { message, headers: { 'X-Dry-Run': 'true' } })
}

export const JOBS_PATH = '/api/v1/jobs/'

/** Returns 202 for work that continues as a job, which is named beside `data` as in the specification's table. */
export function accept<T>(job: string, data: T, options: Omit<ReplyOptions, 'status' | 'beside'> = {}): Reply<T> {
  const headers = { ...options.headers, Location: `${JOBS_PATH}${job}` }
  return Reply.with(data, { ...options, status: 202, headers, beside: { job } })
}

/** Returns 202 for work on the machine, which the trial profile only records and reports as `recorded`. */
export function begun<T>({ job, isDryRun }: Started, data: T, recorded: string): Reply<T> {
  return accept(job, data, isDryRun ? { message: recorded, headers: { 'X-Dry-Run': 'true' } } : {})
}

const PLACEHOLDER = /\{(\w+)\}/g

/** Returns the names of the {placeholders} in a message. */
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
