import { type Signal, signal } from '@preact/signals'

/** Some lists change without an edit: the events below make the page read them again. */

/** Kinds of events by list; `look` stands for each read of the overview, for changes that no event reports. */
const MOVED_BY: Readonly<Record<string, readonly string[]>> = {
  '/alerts': ['look'],
  '/alerts/silences': ['look'],
  '/certificates/acme/orders': ['certificate', 'job', 'look'],
  '/certificates/certs': ['certificate'],
  '/ipvsDirector/rips': ['realServer'],
  '/jobs': ['job', 'look'],
}
/** Limits how often a list of thousands is read when a server goes up and down every second. */
const SPACE_MS = 5_000

type Later = (act: () => void, wait_ms: number) => unknown

/** Calls `act` at once and then at most once per `wait_ms`: calls within that time are combined into one at its end. */
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

/** Counts what changes the list: an effect that reads this runs again. */
export const movesOf = (path: string): number =>
  (MOVED_BY[path] ?? []).reduce((sum, kind) => sum + (movers.get(kind)?.count.value ?? 0), 0)
