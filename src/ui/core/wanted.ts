import { computed, signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'

/**
 * The objects whose figures the page shows, so that a daemon with thousands need not evaluate the others each second.
 */

/** More ids would not fit into the 4 KiB that the daemon reads of a request line with its headers. */
export const IDS_MAX = 60
export const EVERYTHING = ''

/** Ids by the component that shows them. */
const shown = signal<ReadonlyMap<object, readonly string[]>>(new Map())

/** Ids joined by commas, or `EVERYTHING`; undefined while no component shows figures. */
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

/** Follows the figures of these objects while the calling component is shown. */
export function useFigures(ids: readonly string[]): void {
  // Beyond the limit all figures are followed, whichever ids they are.
  const few = ids.slice(0, IDS_MAX + 1)
  // A layout effect, so that it runs before drawing: figures that arrived earlier are not those of this component.
  useLayoutEffect(() => {
    const who = {}
    show(who, few)
    return () => show(who, undefined)
  }, [few.join()])
}
