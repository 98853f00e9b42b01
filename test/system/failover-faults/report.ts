import type { Edited } from './checker.ts'
import type { Fault } from './faults.ts'
import type { Observer } from './inside.ts'

interface Seen {
  readonly gap_ms: number
  /** Whether the faulty node had an address. */
  readonly atHolder: boolean
  /** From the end of the fault until everything was well again. */
  readonly settled_ms: number
}

const median = (some: readonly number[]): number => some.toSorted((a, b) => a - b)[Math.floor(some.length / 2)] ?? 0
const whole = (some: readonly number[]): string =>
  some.length === 0
    ? '–'
    : `${Math.round(median(some))} (${Math.round(Math.min(...some))}–${Math.round(Math.max(...some))})`

/** Results of the faults of a run, as rows of a table. */
export class Report {
  readonly violations: string[] = []
  readonly #rows = new Map<string, { readonly goal_ms: number | undefined; readonly seen: Seen[] }>()
  #edits = ''

  get total(): number {
    return [...this.#rows.values()].reduce((sum, { seen }) => sum + seen.length, 0)
  }

  add({ title, goal_ms }: Pick<Fault, 'title' | 'goal_ms'>, seen: Seen): void {
    const row = this.#rows.get(title) ?? { goal_ms, seen: [] }
    row.seen.push(seen)
    this.#rows.set(title, row)
  }

  edited(edits: readonly Edited[], observers: readonly Observer[]): void {
    const count = (outcome: Edited['outcome']) => edits.filter((one) => one.outcome === outcome).length
    const applies = observers.flatMap((one) => [...one.applies]).reduce((sum, [, times]) => sum + times, 0)
    const took_ms = observers.flatMap((one) => one.took_ms)
    const outcomes = `${count('answered')} answered, ${count('refused')} refused, ${count('unknown')} unknown`
    this.#edits = `${edits.length} edits: ${outcomes}; took ${whole(took_ms)} ms; ${applies} applies`
  }

  lines(): readonly string[] {
    const rows = [...this.#rows].map(([title, { goal_ms, seen }]) => {
      const gapsOf = (isHolder: boolean) => seen.filter((one) => one.atHolder === isHolder).map((one) => one.gap_ms)
      const [gaps, others] = [gapsOf(true), gapsOf(false)]
      const goal = goal_ms === undefined ? '–' : goal_ms === 0 ? 'none' : `≤ ${goal_ms}`
      const over = goal_ms === undefined ? '–' : gaps.filter((gap_ms) => gap_ms > goal_ms).length
      const back_s = seen.map(({ settled_ms }) => settled_ms / 1000)
      const cells = [title, goal, gaps.length, whole(gaps), over, others.length, whole(others), whole(back_s)]
      return `| ${cells.join(' | ')} |`
    })
    const head = 'fault | goal, ms | at a holder | longest gap, ms (range) | over the goal | at another node'
    return [
      this.#edits,
      `| ${head} | longest gap, ms (range) | well again behind it, s (range) |`,
      '| --- | --- | --- | --- | --- | --- | --- | --- |',
      ...rows.toSorted(),
    ]
  }
}
