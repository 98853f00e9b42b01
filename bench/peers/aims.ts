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

/** Returns Fulcrum's queries per second divided by those of the best tool that keeps history. */
export function leadOver(rows: readonly Measured[] | undefined, which: 'fixed' | 'rolling'): number {
  const [ours, ...others] = (rows ?? []).filter(({ name }) => !name.startsWith('bare'))
  const best = Math.max(...others.map((row) => median(row[which])))
  return median(ours?.[which] ?? []) / best
}

/** Prints the aims; marks the misses. */
export function printAims(outcomes: readonly Outcome[]): void {
  const rows = outcomes.map(({ what, aim, got, met }) => {
    // A tool, such as rrdcached, may not be installed on this machine.
    const isKnown = !/NaN|Infinity/.test(got)
    return [what, aim, !isKnown ? 'not measured' : met ? got : `**${got}, missed**`]
  })
  table('Aims', ['what', 'aim', 'reached'], rows)
}
