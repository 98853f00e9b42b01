/**
 * What is read of an answer. `Response` has it; a program that starts for one question need not load `fetch`, which
 * takes Node longer than all of its own, and makes another one.
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
  /** Without a value at the end. */
  read(): Promise<{ readonly value?: Uint8Array | undefined }>
}
