/**
 * The reference: every second of every metric in a plain map, consolidated naively; a port of the rrdtool oracle's
 * model.
 */
export type SecondValue = number | undefined

export class ReferenceModel {
  /** By object, then by metric. */
  readonly #seconds = new Map<string, Map<number, SecondValue>[]>()

  set(object: string, metric: number, second: number, value: SecondValue): void {
    const metrics = this.#seconds.get(object) ?? []
    this.#seconds.set(object, metrics)
    const seconds = (metrics[metric] ??= new Map())
    seconds.set(second, value)
  }

  forgetFrom(second: number): void {
    this.forget(second, Number.POSITIVE_INFINITY)
  }

  forget(from: number, to: number): void {
    for (const seconds of [...this.#seconds.values()].flat()) {
      for (const at of seconds.keys()) if (at >= from && at < to) seconds.delete(at)
    }
  }

  bucket(object: string, metric: number, start: number, step: number) {
    const seconds = this.#seconds.get(object)?.[metric]
    let [count, sum, minimum, maximum] = [0, 0, Infinity, -Infinity]
    for (let second = start; seconds !== undefined && second < start + step; second++) {
      const value = seconds.get(second)
      if (value === undefined) continue
      count += 1
      sum += value
      minimum = Math.min(minimum, value)
      maximum = Math.max(maximum, value)
    }
    return count === 0 ? { count, sum, minimum: 0, maximum: 0 } : { count, sum, minimum, maximum }
  }
}

/** The choice of an archive by rrd_fetch_fn, as in the oracle; tiers are [step, rows]. */
export function selectByModel(
  tiers: readonly (readonly [number, number])[],
  last: number,
  start: number,
  end: number,
  resolution: number,
): number {
  let full: readonly [number, number] | undefined
  let part: readonly [number, number, number] | undefined
  for (const [step, rows] of tiers) {
    const coveredEnd = last - (last % step)
    const coveredStart = coveredEnd - step * rows
    const distance = Math.abs(resolution - step)
    if (coveredStart <= start) {
      if (full === undefined || distance < full[0]) full = [distance, step]
      continue
    }
    const overlap = end - start - (coveredStart - start)
    if (part === undefined || part[0] < overlap || (part[0] === overlap && distance < part[1])) {
      part = [overlap, distance, step]
    }
  }
  return full?.[1] ?? part?.[2] ?? 1
}

/** mulberry32: the same numbers for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
