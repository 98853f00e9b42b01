import type { FilePreview, PlanPreview } from '../context/staging.ts'
import { EFFECTS, type ChangeEffect, type Driver } from '../drivers/driver.ts'
import type { ConfigView, RecordChange } from '../model/sections.ts'
import { isLong, joinParts } from '../base/long-texts.ts'
import { turn } from '../base/turns.ts'
import { fileDiff } from './file-diff.ts'

/** A preview of what changes do to programs and their files. */

/**
 * Returns the most expensive effect. The cheapest one is the default: a change that no driver cares about takes effect
 * at once.
 */
function dearest(effects: readonly ChangeEffect[]): ChangeEffect {
  return EFFECTS.findLast((effect) => effects.includes(effect)) ?? 'runtime'
}

/** Returns the effect of one change, and the services it touches. */
export function effectOf(
  drivers: readonly Driver[],
  change: RecordChange,
  running: ConfigView,
  desired: ConfigView,
): { readonly effect: ChangeEffect; readonly services: readonly string[] } {
  const affected = drivers.flatMap((driver) => {
    const effect = driver.effectOf(change, running, desired)
    return effect === undefined ? [] : [{ service: driver.name, effect }]
  })
  return { effect: dearest(affected.map(({ effect }) => effect)), services: affected.map(({ service }) => service) }
}

/** Returns what an apply would write and do. Slow parts take turns with other work. */
export async function previewOf(
  drivers: readonly Driver[],
  running: ConfigView,
  desired: ConfigView,
): Promise<Pick<PlanPreview, 'files' | 'steps'>> {
  const steps = drivers.flatMap((driver) => driver.plan(running, desired, { atLeast: 'runtime' }))
  await turn()
  const before = drivers.map((driver) => driver.render(running))
  await turn()
  const after = drivers.map((driver) => driver.render(desired))
  await turn()
  const files: FilePreview[] = []
  for (const [at, rendered] of after.entries()) files.push(...(await fileDiffs(before[at] ?? [], rendered)))
  return { files, steps: steps.map(({ kind, why }) => ({ kind, why })) }
}

async function fileDiffs(
  before: ReturnType<Driver['render']>,
  after: ReturnType<Driver['render']>,
): Promise<readonly FilePreview[]> {
  const contentOf = (files: typeof before, path: string) => files.find((file) => file.path === path)?.content ?? ''
  // A file that would be removed is shown as well.
  const paths = [...new Set([...after, ...before].map(({ path }) => path))]
  const files: FilePreview[] = []
  for (const path of paths) {
    const [old, content] = [contentOf(before, path), contentOf(after, path)]
    for (const text of [old, content]) if (isLong(text)) await joinParts(text)
    if (old !== content) files.push({ path, diff: fileDiff(path, old, content) })
  }
  return files
}
