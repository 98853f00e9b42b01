/** A page of a list. */
export interface Page<T> {
  readonly data: readonly T[]
  /** Behind which the next one begins. */
  readonly next?: string | null | undefined
}

/** Records in a page, unless `limit` says another number. */
export const PAGE = 1000

/** Each record, page by page as it is needed. */
export async function* records<T>(ask: (after: string | undefined) => Promise<Page<T>>): AsyncGenerator<T, void> {
  let after: string | undefined
  do {
    const page = await ask(after)
    yield* page.data
    after = page.next ?? undefined
  } while (after !== undefined)
}
