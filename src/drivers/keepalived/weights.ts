import type { Destination, Served, Share } from './services.ts'

/**
 * keepalived adds the number in a file to the weight in its configuration, at once and without a reload (FILE_CHECK of
 * keepalived.conf(5)). So the configured weight is constant: 1, or 0 for a real server that was halted when the file
 * was written, because a reload puts it into the kernel's table for a moment. Each share has a file for both.
 */
const BASES = { one: 1, none: 0 } as const
export type Base = keyof typeof BASES
/** Marks the real server as failed, so that it is removed. */
const FAULT = -(2 ** 31)

/** keepalived needs a total weight above 0. */
export function baseOf({ share }: Destination, { destinations }: Served): Base {
  return share === 'halted' && destinations.some((other) => other.share !== 'halted') ? 'none' : 'one'
}

export const configWeight = (base: Base): number => BASES[base]

export const weightFileName = (destination: Destination, base: Base): string =>
  base === 'one' ? destination.weightFile : `${destination.weightFile}.0`

export const valueOf = (share: Share, base: Base): number => (share === 'halted' ? FAULT : share - BASES[base])

/** keepalived accepts only values up to this one for a file that it creates. */
const FIRST_VALUE_MAX = 254

/**
 * Returns the value of a file that keepalived creates after a boot: until the daemon corrects it, a halted server gets
 * no new connections.
 */
export const firstValue = (share: Share, base: Base): number =>
  Math.min(FIRST_VALUE_MAX, (share === 'halted' ? 0 : share) - BASES[base])

/** Returns the contents of all weight files, by name. */
export function weightValues(all: readonly Served[]): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  for (const destination of all.flatMap(({ destinations }) => destinations)) {
    for (const base of ['one', 'none'] as const) {
      values.set(weightFileName(destination, base), `${valueOf(destination.share, base)}\n`)
    }
  }
  return values
}

/** Weight files to write: those that must exist, and those that are only corrected if they exist. */
export interface WeightChange {
  readonly values: ReadonlyMap<string, string>
  readonly ifThere: ReadonlyMap<string, string>
}

/** Returns the changes for a running keepalived, which may use either of the two base weights. */
export function weightChange(running: readonly Served[], desired: readonly Served[]): WeightChange {
  const before = weightValues(running)
  const changed = [...weightValues(desired)].filter(([name, value]) => before.get(name) !== value)
  return { values: new Map(changed), ifThere: new Map() }
}

/**
 * Returns the files for a keepalived that reads its configuration and creates most of them. In an unknown state any
 * file may be wrong or missing.
 */
export function wholeWeights(running: readonly Served[] | undefined, desired: readonly Served[]): WeightChange {
  // keepalived may use either of the two base weights.
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
    // Includes unchanged values: so far a file of another name may have held them.
    values: new Map([...weightValues(desired)].filter(([name]) => needed.has(name))),
    ifThere: new Map([...changed].filter(([name]) => !needed.has(name))),
  }
}
