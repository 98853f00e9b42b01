import type { MachineClock } from '../base/clock.ts'
import { EtcdError } from '../etcd/errors.ts'

/** etcd refuses changes of its members for 5 s after one, and each may be delayed by an election. */
const PATIENCE_MS = 20_000
const AGAIN_MS = 250

export interface Waiting {
  readonly clock: Pick<MachineClock, 'monotonic_ms'>
  readonly wait: (ms: number) => Promise<unknown>
}

const isOfEtcd = (error: unknown) => error instanceof EtcdError

/**
 * Repeats the work until etcd accepts it, so the work must be idempotent. Rejects with the last error, and at once with
 * one that is not temporary.
 */
export async function patiently<T>(
  { clock, wait }: Waiting,
  work: () => Promise<T>,
  passes: (error: unknown) => boolean = isOfEtcd,
): Promise<T> {
  const until_ms = clock.monotonic_ms() + PATIENCE_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!passes(error) || clock.monotonic_ms() >= until_ms) throw error
    }
    await wait(AGAIN_MS)
  }
}
