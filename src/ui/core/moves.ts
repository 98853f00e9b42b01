import { type Signal, signal } from '@preact/signals'

/** Lists move although nobody edits them: what is told of that has them read again. */

/** Kinds of events, and `look`: each look at the overview, for what no event tells of. */
const MOVED_BY: Readonly<Record<string, readonly string[]>> = {
  '/alerts': ['look'],
  '/alerts/silences': ['look'],
  '/certificates/acme/orders': ['certificate', 'job', 'look'],
  '/certificates/certs': ['certificate'],
  '/ipvsDirector/rips': ['realServer'],
  '/jobs': ['job', 'look'],
}
/** A server that comes and goes each second does not have thousands of them read each second. */
const SPACE_MS = 5_000

type Later = (act: () => void, wait_ms: number) => unknown

/** Does it at once, and then not again for so long: what is asked for meanwhile is done once, at the end. */
export function spaced(wait_ms: number, act: () => void, later: Later = setTimeout): () => void {
  let isWaiting = false
  let isAsked = false
  function ask(): void {
    if (isWaiting) {
      isAsked = true
      return
    }
    isWaiting = true
    act()
    later(() => {
      isWaiting = false
      if (!isAsked) return
      isAsked = false
      ask()
    }, wait_ms)
  }
  return ask
}

interface Mover {
  readonly count: Signal<number>
  readonly move: () => void
}

function mover(): Mover {
  const count = signal(0)
  return { count, move: spaced(SPACE_MS, () => (count.value = count.peek() + 1)) }
}

const movers = new Map(
  Object.values(MOVED_BY)
    .flat()
    .map((kind) => [kind, mover()] as const),
)

export const happened = (kind: string): void => movers.get(kind)?.move()

/** Rises with whatever moves the list: an effect that reads it runs again. */
export const movesOf = (path: string): number =>
  (MOVED_BY[path] ?? []).reduce((sum, kind) => sum + (movers.get(kind)?.count.value ?? 0), 0)
