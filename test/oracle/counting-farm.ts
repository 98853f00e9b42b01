import type { ProcessStats } from '../../workers/archive/process-answer.ts'
import type { Poll } from '../../workers/archive/source.ts'

const HEADER = '# pxname,svname,scur,stot,bin,bout,type,'
export const COUNTERS = 3

/** What one process of HAProxy says of one object: a gauge, then the counters. */
export interface Figures {
  gauge: number
  readonly counters: number[]
}

export interface CountingProcess {
  readonly pid: number
  readonly started_s: number
  readonly objects: Map<string, Figures>
}

/**
 * Processes that count: one that is current, older ones that still have connections. Time and chance come from outside.
 */
export class CountingFarm {
  readonly #whole: (below: number) => number
  readonly #names: readonly string[]
  current: CountingProcess
  old: CountingProcess[] = []

  constructor(names: readonly string[], whole: (below: number) => number, now_s: number) {
    this.#names = names
    this.#whole = whole
    this.current = this.#process(1, now_s)
  }

  #process(pid: number, started_s: number): CountingProcess {
    return { pid, started_s, objects: new Map(this.#names.map((name) => [name, { gauge: 0, counters: [0, 0, 0] }])) }
  }

  /** One second of traffic in every process. */
  grow(): void {
    for (const { objects } of [this.current, ...this.old]) {
      for (const figures of objects.values()) {
        figures.gauge = this.#whole(50)
        const sessions = this.#whole(3) === 0 ? this.#whole(2_000) : 0
        for (const [counter, factor] of [1, 431, 9_173].entries())
          figures.counters[counter] = (figures.counters[counter] ?? 0) + sessions * factor
      }
    }
  }

  reload(now_s: number): void {
    this.old.push(this.current)
    this.current = this.#process(this.current.pid + 1, now_s)
  }

  /** An old process has no connections left. */
  endOne(): void {
    this.old.splice(this.#whole(Math.max(1, this.old.length)), 1)
  }

  clearCounters(): void {
    for (const { counters } of this.current.objects.values()) counters.fill(0)
  }

  /** A server is removed at run time, or is there again and counts from zero. */
  toggle(name: string): void {
    if (!this.current.objects.delete(name)) this.current.objects.set(name, { gauge: 0, counters: [0, 0, 0] })
  }

  poll(now_s: number): Poll & { readonly ok: true } {
    return {
      ok: true,
      current: statsOf(this.current, now_s),
      old: this.old.map((process) => statsOf(process, now_s)),
      oldPids: this.old.map(({ pid }) => pid),
    }
  }
}

function statsOf({ pid, started_s, objects }: CountingProcess, now_s: number): ProcessStats {
  const lines = Array.from(objects, ([name, { gauge, counters }]) => `be,${name},${gauge},${counters.join()},2,`)
  const bytes = new Uint8Array(Buffer.from(`${[HEADER, ...lines].join('\n')}\n\n`))
  return { pid, uptime_s: Math.floor(now_s - started_s), bytes, from: 0 }
}
