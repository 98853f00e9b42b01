import type { ReferenceModel } from '../storage/archive/reference-model.ts'
import { COUNTERS, type CountingFarm, type CountingProcess } from './counting-farm.ts'

const HEARTBEAT_S = 5
const JITTER_S = 0.5

interface KnownProcess {
  /** Counters of the objects in its last answer. */
  last: ReadonlyMap<string, readonly number[]> | undefined
  /** It counted from zero since the poll before its first one. */
  readonly fresh: boolean
}

interface Gain {
  gauge: number
  queue: number
  /** Those of the current process; averages cannot be added. */
  times: readonly number[]
  readonly increments: number[]
}

const none = (): Gain => ({ gauge: 0, queue: 0, times: [], increments: Array.from({ length: COUNTERS }, () => 0) })

/** The rules of counting in their plainest form: values of the seconds that follow from the polls of a farm. */
export class CollectorModel {
  readonly #model: ReferenceModel
  readonly #known = new Map<number, KnownProcess>()
  #polled: ReadonlySet<number> = new Set()
  #pid = 0
  #sampled_s: number
  /** The first second that is not stored. */
  open_s: number
  /** This run of the daemon has had a good poll. */
  #hasPolled = false

  constructor(model: ReferenceModel, start_s: number) {
    this.#model = model
    this.#sampled_s = start_s
    this.open_s = start_s
  }

  /** Data of old processes do not survive a restart of the daemon. */
  restart(): void {
    for (const pid of this.#known.keys()) if (pid !== this.#pid) this.#known.delete(pid)
    this.#polled = new Set()
    this.#hasPolled = false
  }

  miss(tick_s: number): void {
    if (tick_s - this.#sampled_s > HEARTBEAT_S + JITTER_S) this.open_s = tick_s
  }

  poll(farm: CountingFarm, tick_s: number): void {
    const { current, old } = farm
    const since_s = tick_s - this.#sampled_s + (this.#hasPolled ? 0 : 0.05)
    const age_s = Math.floor(tick_s + 0.05 - current.started_s) + 1
    const isNew = !this.#known.has(current.pid)
    const isYoung = this.#hasPolled || age_s - 1 <= since_s
    const elapsed_s = isNew && isYoung ? Math.min(age_s, since_s) : since_s
    const gains = new Map<string, Gain>()
    if (isNew) this.#known.set(current.pid, { last: undefined, fresh: isYoung })
    this.#add(gains, current, true)
    for (const process of old) {
      const began = isNew && this.#polled.size > 0 && !this.#polled.has(process.pid)
      if (!this.#known.has(process.pid)) this.#known.set(process.pid, { last: undefined, fresh: began })
      this.#add(gains, process, false)
    }
    this.#pid = current.pid
    this.#polled = new Set([current.pid, ...old.map(({ pid }) => pid)])
    for (const pid of this.#known.keys()) if (!this.#polled.has(pid)) this.#known.delete(pid)
    this.#store(gains, tick_s, elapsed_s)
    this.#sampled_s = tick_s
    this.open_s = tick_s
    this.#hasPolled = true
  }

  #add(gains: Map<string, Gain>, process: CountingProcess, isCurrent: boolean): void {
    const known = this.#known.get(process.pid)
    if (known === undefined) throw new Error('a process that was not noted')
    for (const [name, { gauge, queue, times, counters }] of process.objects) {
      const gain = gains.get(name) ?? none()
      gains.set(name, gain)
      gain.gauge += gauge
      gain.queue += queue
      if (isCurrent) gain.times = [...times]
      for (const [counter, value] of counters.entries()) {
        const fromZero = known.last === undefined ? known.fresh : true
        const before = known.last?.get(name)?.[counter] ?? (fromZero ? 0 : Number.NaN)
        const increment = value >= before ? value - before : Number.NaN
        // A counter that an old process cannot report is left out; one that the current process cannot report, or that
        // has no value, is unknown.
        if (isCurrent || !Number.isNaN(increment) || Number.isNaN(value))
          gain.increments[counter] = (gain.increments[counter] ?? 0) + increment
      }
    }
    known.last = new Map(Array.from(process.objects, ([name, { counters }]) => [name, [...counters]]))
  }

  /** Evenly over the seconds, with the remainder in the last ones; gauges belong to the last second only. */
  #store(gains: ReadonlyMap<string, Gain>, tick_s: number, elapsed_s: number): void {
    const isUnknown = elapsed_s > HEARTBEAT_S + JITTER_S
    const n = isUnknown ? 1 : Math.min(tick_s - this.open_s, Math.max(1, Math.round(elapsed_s)))
    for (const [name, { gauge, queue, times, increments }] of gains) {
      for (const [metric, value] of [
        [0, gauge],
        [COUNTERS + 1, queue],
      ] as const)
        this.#model.set(name, metric, tick_s - 1, value)
      for (const [time, value] of times.entries()) this.#model.set(name, COUNTERS + 2 + time, tick_s - 1, value)
      if (isUnknown) continue
      for (const [counter, increment] of increments.entries()) {
        if (Number.isNaN(increment)) continue
        let left = increment
        for (let second = tick_s - n; second < tick_s; second += 1) {
          const share = Math.floor(left / (tick_s - second))
          left -= share
          this.#model.set(name, counter + 1, second, share)
        }
      }
    }
  }
}
