/** Pollers wait for as long as the loop does not turn. */
const SLICE_MS = 1

/** Resolves when the event loop has answered what came in meanwhile. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** Takes portion after portion; the loop turns after each millisecond of work. */
export async function inTurns<T>(portions: Iterable<T>, use: (portion: T) => void = () => undefined): Promise<void> {
  const pause = pace()
  for (const portion of portions) {
    use(portion)
    const due = pause()
    if (due !== undefined) await due
  }
}

/** To be awaited between portions of work: the loop turns there after each millisecond of it. */
export function pace(): () => Promise<void> | undefined {
  let began_ms = performance.now()
  return () => {
    if (performance.now() - began_ms < SLICE_MS) return undefined
    return turn().then(() => {
      began_ms = performance.now()
    })
  }
}
