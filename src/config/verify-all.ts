import type { Problem } from '../drivers/driver.ts'
import type { ConfigView } from '../model/sections.ts'
import { configInvalid } from './apply-refusals.ts'
import type { ApplyParts } from './apply-parts.ts'
import { turn } from './turns.ts'
import { configView } from './views.ts'

/** Refuses what any driver, rule or part of the daemon finds wrong, with all that was found. Changes nothing. */
export async function verifyAll(
  { drivers, rules, own, store }: Pick<ApplyParts, 'drivers' | 'rules' | 'own' | 'store'>,
  desired: ConfigView,
): Promise<void> {
  const running = configView(store.running)
  const problems: Problem[] = []
  for (const rule of [...drivers.map((driver) => driver.verify.bind(driver)), ...rules]) {
    problems.push(...rule(desired, running))
    await turn()
  }
  for (const part of own) problems.push(...(await part.verify(running, desired)))
  if (problems.length > 0) throw configInvalid(problems, undefined)
}
