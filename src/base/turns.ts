/** Pollers wait while the event loop does not turn. */
const SLICE_MS = 1

/** Resolves after the event loop has processed what arrived meanwhile. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** Uses portion after portion, and takes a turn after each millisecond of work. */
export async function inTurns<T>(portions: Iterable<T>, use: (portion: T) => void = () => undefined): Promise<void> {
  const pause = pace()
  for (const portion of portions) {
    use(portion)
    const due = pause()
    if (due !== undefined) await due
  }
}

/** Returns a function to await between portions of work, which takes a turn after each millisecond of work. */
export function pace(): () => Promise<void> | undefined {
  let began_ms = performance.now()
  return () => {
    if (performance.now() - began_ms < SLICE_MS) return undefined
    return turn().then(() => {
      began_ms = performance.now()
    })
  }
}
