import type { Answer } from './answer.ts'

/** One problem with one field of a request. */
export interface FieldError {
  /** Dotted path, such as `reals.0.ripId`. */
  readonly field: string
  readonly code: string
  /** The problem in words. */
  readonly message: string
}

/** Body of a refusal by the API. */
export interface Refusal {
  readonly code: string
  readonly message: string
  readonly errors?: readonly FieldError[]
  readonly data?: unknown
}

/** The API refused the request, and nothing was done. `code` is stable across versions, `message` is for people. */
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

  /** Returns the message about this field; a form shows it beside its input. */
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

/** Returns the answer, or throws the refusal as `Refused`. */
export function must<T>({ data, error, response }: Result<T>): T {
  if (response.ok && data !== undefined) return data
  throw refusedBy(response.status, error)
}

/** Returns the error for a body that came with this status. */
export function refusedBy(status: number, body: unknown): Refused | Foreign {
  if (typeof body === 'object' && body !== null && typeof Reflect.get(body, 'code') === 'string') {
    return new Refused(status, body as Refusal)
  }
  return new Foreign(`the answer has the status ${status}, and is not from Fulcrum`)
}

export async function refusedWith(response: Pick<Answer, 'status' | 'json'>): Promise<Refused | Foreign> {
  return refusedBy(response.status, await response.json().catch(() => undefined))
}
