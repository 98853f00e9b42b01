import { computed, signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'

/** Which objects the page shows figures of. A daemon with thousands of them need not look at the others each second. */

/** The API takes no more of them. */
export const IDS_MAX = 100
export const EVERYTHING = ''

/** By the component that shows them. */
const shown = signal<ReadonlyMap<object, readonly string[]>>(new Map())

/** Ids with commas between them, or `EVERYTHING`; undefined while nobody shows any figures. */
export const wanted = computed((): string | undefined => {
  if (shown.value.size === 0) return undefined
  const ids = new Set([...shown.value.values()].flat())
  return ids.size > IDS_MAX ? EVERYTHING : [...ids].toSorted().join()
})

function show(who: object, ids: readonly string[] | undefined): void {
  const next = new Map(shown.peek())
  if (ids === undefined || ids.length === 0) next.delete(who)
  else next.set(who, ids)
  shown.value = next
}

/** While the calling component is shown, the figures of these are followed. */
export function useFigures(ids: readonly string[]): void {
  // More than can be told apart from everything need not be told apart from each other.
  const few = ids.slice(0, IDS_MAX + 1)
  // Before anything is drawn: the figures that came are not those that it shows.
  useLayoutEffect(() => {
    const who = {}
    show(who, few)
    return () => show(who, undefined)
  }, [few.join()])
}
