import { ApiError } from '../base/errors.ts'
import type { Problem } from '../model/problem.ts'
import type { ConfigView } from '../model/sections.ts'
import { configInvalid } from './apply-refusals.ts'
import type { ApplyParts } from './apply-parts.ts'
import { inTurns, turn } from '../base/turns.ts'
import { configView } from './views.ts'

/** Refuses with all problems that drivers, rules and parts of the daemon find. Changes nothing. */
export async function verifyAll(
  { drivers, rules, own, store }: Pick<ApplyParts, 'drivers' | 'rules' | 'own' | 'store'>,
  desired: ConfigView,
): Promise<void> {
  const running = configView(store.running)
  const problems: Problem[] = []
  for (const rule of [...drivers.map((driver) => driver.verify.bind(driver)), ...rules]) {
    await inTurns(rule(desired, running), (problem) => {
      if (problem !== undefined) problems.push(problem)
    })
    await turn()
  }
  for (const part of own) problems.push(...(await part.verify(running, desired)))
  refuseInUse(problems)
  if (problems.length > 0) throw configInvalid(problems, undefined)
}

/** Gives the same refusal as staging, if there is no other problem. */
function refuseInUse(problems: readonly Problem[]): void {
  const usage = problems.flatMap((problem) => problem.usage ?? [])
  const [first] = problems
  if (first === undefined || !problems.every((problem) => problem.usage !== undefined)) return
  throw new ApiError('IN_USE', first.message, { data: { usage } })
}
