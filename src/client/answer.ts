/**
 * The part of a `Response` that this client reads. A program that starts for a single request can pass its own object
 * and need not load `fetch`, which takes Node longer than the whole program.
 */
export interface Answer {
  readonly ok: boolean
  readonly status: number
  readonly headers: { get(name: string): string | null }
  readonly body: Body | null
  json(): Promise<unknown>
}

export interface Body {
  getReader(): Reader
  cancel(): Promise<void>
}

export interface Reader {
  /** `value` is absent at the end. */
  read(): Promise<{ readonly value?: Uint8Array | undefined }>
}
