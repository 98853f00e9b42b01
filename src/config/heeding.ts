import type { Change } from '../../storage/config/config-store.ts'
import { summarize } from '../warnings/counted.ts'
import type { ApplyOptions } from '../context/applying.ts'
import { ApiError } from '../base/errors.ts'
import type { ConfigView } from '../model/sections.ts'
import type { Warning } from '../model/warning.ts'
import { warningsOf } from '../warnings/warnings.ts'
import { recordChange } from './views.ts'

/** Returns the warnings about an apply; refuses the apply because of them if the caller asked for that. */
export async function heedWarnings(
  frozen: readonly Change[],
  [running, desired]: readonly [ConfigView, ConfigView],
  { refuseWarnings }: Pick<ApplyOptions, 'refuseWarnings'>,
  now_ms: number,
): Promise<readonly Warning[]> {
  const warnings = await warningsOf(running, desired, frozen.map(recordChange), now_ms)
  if (refuseWarnings !== true || warnings.length === 0) return warnings
  const message = `${summarize(warnings)}; apply without refuseWarnings if this is intended`
  throw new ApiError('WARNINGS', message, { data: { warnings } })
}
