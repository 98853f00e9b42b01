import { median, table } from '../measure.ts'
import type { Measured } from './compare.ts'

export interface Outcome {
  readonly what: string
  readonly aim: string
  readonly got: string
  readonly met: boolean
}

export function atLeast(what: string, got: number, aim: number): Outcome {
  return { what, aim: `≥ ${aim} ×`, got: `${got.toFixed(1)} ×`, met: got >= aim }
}

/** Fulcrum's queries per second over those of the best tool that keeps history. */
export function leadOver(rows: readonly Measured[] | undefined, which: 'fixed' | 'rolling'): number {
  const [ours, ...others] = (rows ?? []).filter(({ name }) => !name.startsWith('bare'))
  const best = Math.max(...others.map((row) => median(row[which])))
  return median(ours?.[which] ?? []) / best
}

/** Misses stand beside what was reached. */
export function printAims(outcomes: readonly Outcome[]): void {
  const rows = outcomes.map(({ what, aim, got, met }) => {
    // Where a tool is not on this machine, as rrdcached.
    const isKnown = !/NaN|Infinity/.test(got)
    return [what, aim, !isKnown ? 'not measured' : met ? got : `**${got}, missed**`]
  })
  table('Aims', ['what', 'aim', 'reached'], rows)
}
