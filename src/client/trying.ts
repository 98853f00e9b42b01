import type { Answer } from './answer.ts'

export interface Bounds {
  /** Maximum number of attempts for a request that gets no answer. */
  readonly tries_max?: number | undefined
  /** Total time for retries of a request that is refused temporarily. */
  readonly wait_s_max?: number | undefined
}

export interface Tried extends Bounds {
  /** Returns whether a request that got no answer may be repeated. */
  readonly mayRepeat: (error: unknown) => boolean
  readonly signal?: AbortSignal | undefined
}

const TRIES_MAX = 4
const WAIT_S_MAX = 10
const BACK_OFF_MS = 250
/** Statuses of temporary refusals: with Retry-After, nothing was done. */
const LATER: ReadonlySet<number> = new Set([409, 429, 503])

/** Repeats requests that are refused temporarily, and requests without an answer if they cannot do anything twice. */
export async function tried<A extends Answer>(
  send: () => Promise<A>,
  { mayRepeat, signal, tries_max = TRIES_MAX, wait_s_max = WAIT_S_MAX }: Tried,
): Promise<A> {
  let left_ms = wait_s_max * 1000
  let tries = 0
  for (;;) {
    let wait_ms: number
    try {
      const answer = await send()
      wait_ms = waitOf_ms(answer)
      left_ms -= wait_ms
      if (!(left_ms >= 0)) return answer
      await answer.body?.cancel()
    } catch (error) {
      tries += 1
      if (tries >= tries_max || !mayRepeat(error)) throw error
      wait_ms = BACK_OFF_MS * 2 ** (tries - 1)
    }
    await pause(wait_ms, signal)
  }
}

/** Returns the wait after a temporary refusal; otherwise NaN. */
const waitOf_ms = ({ status, headers }: Answer): number =>
  LATER.has(status) ? Math.max(Number(headers.get('retry-after') ?? NaN) * 1000, BACK_OFF_MS) : NaN

/** Waits; rejects early, with the reason, when the signal is aborted. */
export function pause(wait_ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', aborted)
      resolve()
    }, wait_ms)
    if (signal?.aborted === true) aborted()
    else signal?.addEventListener('abort', aborted, { once: true })
  })
}
