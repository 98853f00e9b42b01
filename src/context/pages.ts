export interface Page<T> {
  readonly items: readonly T[]
  /** undefined: there is no more. */
  readonly next: string | undefined
}

export interface PageAsked {
  readonly limit?: number
  readonly after?: string
}
