/**
 * Does it later, unless what it answers is called before. A loop that stood still for a while has not read yet what
 * came in time: it does so first.
 */
export function after(delay_ms: number, work: () => void): () => void {
  let isWanted = true
  const whenRead = () => {
    if (isWanted) work()
  }
  const timer = setTimeout(() => setImmediate(() => setImmediate(whenRead)), Math.max(0, delay_ms))
  return () => {
    isWanted = false
    clearTimeout(timer)
  }
}
