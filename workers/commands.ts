import type { SocketCommand } from '../src/drivers/driver.ts'
import type { Host } from '../src/drivers/host.ts'

/** Returns a function that returns the time left, at least 1 ms. */
export function deadline(timeout_ms: number): () => number {
  const end_ms = performance.now() + timeout_ms
  return () => Math.max(1, end_ms - performance.now())
}

/** Returns the first command that was not answered as expected, or undefined. */
export async function refusedCommand(
  host: Pick<Host, 'socket'>,
  path: string,
  commands: readonly SocketCommand[],
  left_ms: () => number,
): Promise<string | undefined> {
  for (const { request, payload, expect } of commands) {
    const answer = (await host.socket(path, request, left_ms(), payload)).trim()
    if (!expect.some((accepted) => fits(answer, accepted)))
      return `${request}: ${answer === '' ? '(no answer)' : answer}`
  }
  return undefined
}

/** Whether the answer is the accepted one; a `*` at the end or beginning of `accepted` stands for the rest. */
export function fits(answer: string, accepted: string): boolean {
  if (accepted.startsWith('*')) return answer.endsWith(accepted.slice(1))
  return accepted.endsWith('*') ? answer.startsWith(accepted.slice(0, -1)) : answer === accepted
}
