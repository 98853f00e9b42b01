import type { Daemon } from '../fixtures/daemon.ts'
import { median, quantile } from './attack-fixture.ts'

export interface Figures {
  readonly p50_ms: number
  readonly p99_ms: number
}

/** Response times of another user, who sends one request after another and always gets an answer. */
export async function felt(daemon: Daemon, rounds = 4, requests = 100, path = '/services'): Promise<Figures> {
  const taken: number[][] = []
  for (let round = 0; round < rounds; round += 1) {
    const one: number[] = []
    for (let n = 0; n < requests; n += 1) {
      const from = performance.now()
      const { status, text } = await daemon.call('GET', path)
      one.push(performance.now() - from)
      if (status !== 200) throw new Error(`answered ${status} ${text}`)
    }
    taken.push(one)
  }
  return { p50_ms: median(taken.map(median)), p99_ms: median(taken.map((one) => quantile(one, 0.99))) }
}

/** Text of the figures, with the factor by which p99 exceeds that of `before`. */
export function textOf({ p50_ms, p99_ms }: Figures, before?: Figures): string {
  const ratio = before === undefined ? '' : ` (p99 ${(p99_ms / before.p99_ms).toFixed(2)} times)`
  return `p50 ${p50_ms.toFixed(2)} ms, p99 ${p99_ms.toFixed(2)} ms${ratio}`
}
