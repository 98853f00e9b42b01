import type { Destination, Served, Share } from './services.ts'

/**
 * keepalived adds the number in a file to the weight in its configuration, at once and without a reload (FILE_CHECK of
 * keepalived.conf(5)). The weight in the configuration is therefore always the same: 1, or 0 for a real server that was
 * halted when the file was written, as a reload puts it into the kernel's table for a moment. Each share is kept for
 * both.
 */
const BASES = { one: 1, none: 0 } as const
export type Base = keyof typeof BASES
/** The real server fails, and is taken out. */
const FAULT = -(2 ** 31)

/** keepalived wants some weight in sum. */
export function baseOf({ share }: Destination, { destinations }: Served): Base {
  return share === 'halted' && destinations.some((other) => other.share !== 'halted') ? 'none' : 'one'
}

export const configWeight = (base: Base): number => BASES[base]

export const weightFileName = (destination: Destination, base: Base): string =>
  base === 'one' ? destination.weightFile : `${destination.weightFile}.0`

export const valueOf = (share: Share, base: Base): number => (share === 'halted' ? FAULT : share - BASES[base])

/** keepalived takes no others for a file that it makes itself. */
const FIRST_VALUE_MAX = 254

/**
 * What a file holds that keepalived makes, after a boot: until the daemon sets it right, one that is halted takes
 * nothing new.
 */
export const firstValue = (share: Share, base: Base): number =>
  Math.min(FIRST_VALUE_MAX, (share === 'halted' ? 0 : share) - BASES[base])

/** What every file of weights is to hold, by its name. */
export function weightValues(all: readonly Served[]): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  for (const destination of all.flatMap(({ destinations }) => destinations)) {
    for (const base of ['one', 'none'] as const) {
      values.set(weightFileName(destination, base), `${valueOf(destination.share, base)}\n`)
    }
  }
  return values
}

/** Files of weights to be written: those that are needed, and those that are only to be right if they are there. */
export interface WeightChange {
  readonly values: ReadonlyMap<string, string>
  readonly ifThere: ReadonlyMap<string, string>
}

/** What a running keepalived is to notice: it may have read either of the two weights. */
export function weightChange(running: readonly Served[], desired: readonly Served[]): WeightChange {
  const before = weightValues(running)
  const changed = [...weightValues(desired)].filter(([name, value]) => before.get(name) !== value)
  return { values: new Map(changed), ifThere: new Map() }
}

/**
 * For a keepalived that reads its configuration: it makes most files itself. Of an unknown machine any may be wrong or
 * gone.
 */
export function wholeWeights(running: readonly Served[] | undefined, desired: readonly Served[]): WeightChange {
  // It may have read either of the two weights.
  if (running === undefined) return { values: weightValues(desired), ifThere: new Map() }
  const needed = new Set<string>()
  for (const served of desired) {
    for (const one of served.destinations) {
      const base = baseOf(one, served)
      if (firstValue(one.share, base) !== valueOf(one.share, base)) needed.add(weightFileName(one, base))
    }
  }
  const { values: changed } = weightChange(running, desired)
  return {
    // Also what does not change: until now a file of another name may have said so.
    values: new Map([...weightValues(desired)].filter(([name]) => needed.has(name))),
    ifThere: new Map([...changed].filter(([name]) => !needed.has(name))),
  }
}
