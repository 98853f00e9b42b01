import { type TObject, Type } from 'typebox'
import { Reply } from './reply.ts'
import type { Page, PageAsked } from '../context/pages.ts'

/** Lists that may be long are answered in pages; what begins the next one is opaque. */

export const PAGE_DEFAULT = 100
const PAGE_MAX = 1_000

/** Query parameters of a list in pages. */
export const PageQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: PAGE_MAX, description: `At most so many, 1 to ${PAGE_MAX}; ${PAGE_DEFAULT}.` }),
  ),
  after: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 400,
      description: 'As `next` of the page before; without it the first page.',
    }),
  ),
}

/** Beside the data of such a list. */
export const PageBeside: TObject = Type.Object({
  next: Type.Optional(
    Type.String({ description: 'Ask with it as `after` for what follows; absent on the last page.' }),
  ),
})

/**
 * Items in the order of their keys, which stay as they are: what is gone when the next page is asked for is not missed.
 */
export function pageOf<T>(
  all: readonly T[],
  { limit = PAGE_DEFAULT, after }: PageAsked,
  keyOf: (item: T) => string,
): Page<T> {
  const last = after === undefined ? '' : Buffer.from(after, 'base64url').toString()
  const following = all.map((item) => ({ key: keyOf(item), item })).filter(({ key }) => key > last)
  following.sort((a, b) => (a.key < b.key ? -1 : 1))
  const page = following.slice(0, limit)
  const isLast = page.length === following.length
  return {
    items: page.map(({ item }) => item),
    next: isLast ? undefined : Buffer.from(page.at(-1)?.key ?? '').toString('base64url'),
  }
}

export const mapPage = <T, U>({ items, next }: Page<T>, shown: (item: T) => U): Page<U> => ({
  items: items.map(shown),
  next,
})

/** A page as it is answered. */
export function answerPage<T>({ items, next }: Page<T>): Reply<T[]> {
  return Reply.with([...items], { beside: next === undefined ? {} : { next } })
}
