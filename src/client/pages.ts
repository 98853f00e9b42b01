/** A page of a list. */
export interface Page<T> {
  readonly data: readonly T[]
  /** Cursor after which the next page begins. */
  readonly next?: string | null | undefined
}

/** Records per page, unless `limit` says otherwise. */
export const PAGE = 1000

/** Yields each record, reading page by page as needed. */
export async function* records<T>(ask: (after: string | undefined) => Promise<Page<T>>): AsyncGenerator<T, void> {
  let after: string | undefined
  do {
    const page = await ask(after)
    yield* page.data
    after = page.next ?? undefined
  } while (after !== undefined)
}
