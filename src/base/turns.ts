/** Who polls waits for as long as the loop does not turn. */
const SLICE_MS = 1

/** Resolves when the event loop has answered what came in meanwhile. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** Takes portion after portion; the loop turns after each millisecond of work. */
export async function inTurns<T>(portions: Iterable<T>, use: (portion: T) => void = () => undefined): Promise<void> {
  let began_ms = performance.now()
  for (const portion of portions) {
    use(portion)
    if (performance.now() - began_ms < SLICE_MS) continue
    await turn()
    began_ms = performance.now()
  }
}
