/**
 * Runs `work` after a delay, unless the returned function is called before. After a blocked event loop, input that
 * arrived in time is read first.
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
