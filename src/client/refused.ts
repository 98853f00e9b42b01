import type { Answer } from './answer.ts'

/** One problem with one field of a request. */
export interface FieldError {
  /** Dotted path, such as `reals.0.ripId`. */
  readonly field: string
  readonly code: string
  /** The same for people. */
  readonly message: string
}

/** What the API says when it refuses. */
export interface Refusal {
  readonly code: string
  readonly message: string
  readonly errors?: readonly FieldError[]
  readonly data?: unknown
}

/** The API refused, and nothing was done. `code` stays as it is over versions, `message` is for people. */
export class Refused extends Error {
  readonly status: number
  readonly code: string
  readonly errors: readonly FieldError[]
  readonly data: unknown

  constructor(status: number, { code, message, errors = [], data }: Refusal) {
    super(message)
    this.name = 'Refused'
    this.status = status
    this.code = code
    this.errors = errors
    this.data = data
  }

  /** What is said of this field; a form shows it beside its input. */
  about(field: string): string | undefined {
    return this.errors.find((error) => error.field === field)?.message
  }
}

/** Something other than Fulcrum answered, such as a proxy in front of it. */
export class Foreign extends Error {
  override readonly name = 'Foreign'
}

interface Result<T> {
  readonly data?: T
  readonly error?: unknown
  readonly response: Response
}

/** The answer; a refusal is thrown as `Refused`. */
export function must<T>({ data, error, response }: Result<T>): T {
  if (response.ok && data !== undefined) return data
  throw refusedBy(response.status, error)
}

/** What a body says that came with such a status. */
export function refusedBy(status: number, body: unknown): Refused | Foreign {
  if (typeof body === 'object' && body !== null && typeof Reflect.get(body, 'code') === 'string') {
    return new Refused(status, body as Refusal)
  }
  return new Foreign(`the answer has the status ${status}, and is not by Fulcrum`)
}

export async function refusedWith(response: Pick<Answer, 'status' | 'json'>): Promise<Refused | Foreign> {
  return refusedBy(response.status, await response.json().catch(() => undefined))
}
