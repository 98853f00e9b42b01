import type { ProcessStats } from '../../workers/archive/process-answer.ts'
import type { Poll } from '../../workers/archive/source.ts'

const ANSWERS = ['1xx', '2xx', '3xx', '4xx', '5xx'].map((codes) => `hrsp_${codes}`)
const HEADER = `# pxname,svname,qcur,scur,stot,bin,bout,econ,eresp,type,${ANSWERS.join()},req_tot,rtime,ctime,ttime,`
/** Increment of each counter per session: sessions, bytes, requests, answers by class, errors. */
const FACTORS = [1, 431, 9_173, 3, 0, 2, 1, 5, 0, 7]
export const COUNTERS = FACTORS.length

/** Figures of one object in one process of HAProxy: gauges, average times, and counters. */
export interface Figures {
  gauge: number
  queue: number
  readonly times: number[]
  readonly counters: number[]
}

export interface CountingProcess {
  readonly pid: number
  readonly started_s: number
  readonly objects: Map<string, Figures>
}

/**
 * Processes that count: a current one, and older ones that still have connections. Time and chance come from outside.
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
    return { pid, started_s, objects: new Map(this.#names.map((name) => [name, nothing(name)])) }
  }

  /** One second of traffic in every process. */
  grow(): void {
    for (const { objects } of [this.current, ...this.old]) {
      for (const figures of objects.values()) {
        figures.gauge = this.#whole(50)
        figures.queue = this.#whole(4)
        for (const time of figures.times.keys()) figures.times[time] = this.#whole(3_000)
        const sessions = this.#whole(3) === 0 ? this.#whole(2_000) : 0
        for (const [counter, factor] of FACTORS.entries())
          figures.counters[counter] = (figures.counters[counter] ?? 0) + sessions * factor
      }
    }
  }

  reload(now_s: number): void {
    this.old.push(this.current)
    this.current = this.#process(this.current.pid + 1, now_s)
  }

  /** An old process has lost its last connection. */
  endOne(): void {
    this.old.splice(this.#whole(Math.max(1, this.old.length)), 1)
  }

  clearCounters(): void {
    for (const { counters } of this.current.objects.values())
      for (const [counter, value] of counters.entries()) if (!Number.isNaN(value)) counters[counter] = 0
  }

  /** A server is removed at runtime, or comes back and counts from zero. */
  toggle(name: string): void {
    if (!this.current.objects.delete(name)) this.current.objects.set(name, nothing(name))
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

/** In tcp mode there are no requests and no answers. */
function nothing(name: string): Figures {
  const isCounted = (counter: number) => !name.startsWith('tcp') || counter < 3 || counter === COUNTERS - 1
  const counters = FACTORS.map((_, counter) => (isCounted(counter) ? 0 : Number.NaN))
  return { gauge: 0, queue: 0, times: [0, 0, 0], counters }
}

function lineOf(name: string, { gauge, queue, times, counters }: Figures): string {
  const [sessions, bytesIn, bytesOut, requests, ...answers] = counters.map((value) =>
    Number.isNaN(value) ? '' : value,
  )
  const errors = Number(answers.pop())
  const failed = Math.floor(errors / 3)
  const carried = [queue, gauge, sessions, bytesIn, bytesOut, failed, errors - failed, 2]
  return ['be', name, ...carried, ...answers, requests, ...times, ''].join()
}

function statsOf({ pid, started_s, objects }: CountingProcess, now_s: number): ProcessStats {
  const lines = Array.from(objects, ([name, figures]) => lineOf(name, figures))
  const bytes = new Uint8Array(Buffer.from(`${[HEADER, ...lines].join('\n')}\n\n`))
  return { pid, uptime_s: Math.floor(now_s - started_s), bytes, from: 0 }
}
