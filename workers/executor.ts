import type { CheckStep, PlanResult, Step } from '../src/drivers/driver.ts'
import type { Host } from '../src/drivers/host.ts'
import { check, keepOnly, removeFile, replaceFile, values } from './file-steps.ts'
import { account, network, program, setting, socket, unit } from './machine-steps.ts'
import { reasonOf } from '../src/base/reason.ts'
import { type Failure, type Run, startRun, type Undo } from './step-run.ts'

export interface ExecutorHooks {
  /**
   * Called before each step and, at the end, with the number of steps. An exception from it ends the plan without any
   * undo, as a kill would.
   */
  readonly beforeStep?: (index: number) => Promise<void> | void
  /** Reads all figures counted so far. */
  readonly capture?: (() => Promise<void>) | undefined
}

/**
 * Carries out the steps in order; on a failure, undoes the completed ones in reverse. Expected failures are values.
 * Checks must come first: a plan never swaps a file before every program has judged its own.
 */
export async function executePlan(host: Host, steps: readonly Step[], hooks: ExecutorHooks = {}): Promise<PlanResult> {
  assertChecksFirst(steps)
  const run = startRun(host, hooks.capture, steps)
  const recordedBefore = host.recorded
  for (const [index, step] of steps.entries()) {
    await hooks.beforeStep?.(index)
    const failure = await attempt(run, step)
    if (failure === undefined) continue
    const problems = await undoAll(run.undos)
    const output = [failure.output, ...problems].join('\n')
    const { kind, why } = failure.instead ?? step
    return { ok: false, failedStep: index, kind, why, output, missing: failure.missing, undone: problems.length === 0 }
  }
  await hooks.beforeStep?.(steps.length)
  return { ok: true, done: steps.length, recorded: host.recorded - recordedBefore, warnings: run.warnings }
}

/** Runs only the checks of a plan and leaves no file behind; a file that cannot be restored is a failure of its own. */
export async function checkPlan(host: Host, steps: readonly Step[]): Promise<PlanResult> {
  const run = startRun(host)
  let done = 0
  for (const [index, step] of steps.entries()) {
    if (step.kind !== 'check') continue
    const failure = await attempt(run, step)
    const problems = await undoAll(run.undos.splice(0))
    const found = failure ?? notPutBack(step, problems)
    if (found !== undefined) {
      const { kind, why } = found.instead ?? step
      const { output, missing } = found
      return { ok: false, failedStep: index, kind, why, output, missing, undone: problems.length === 0 }
    }
    done += 1
  }
  return { ok: true, done, recorded: 0, warnings: [] }
}

function notPutBack({ path }: CheckStep, problems: readonly string[]): Failure | undefined {
  if (problems.length === 0) return undefined
  const instead = { kind: 'replaceFile', why: `restore the files that the check of ${path} wrote` } as const
  return { output: problems.join('\n'), missing: false, instead }
}

function assertChecksFirst(steps: readonly Step[]): void {
  const firstChange = steps.findIndex(({ kind }) => kind !== 'check')
  const lateCheck =
    firstChange === -1 ? -1 : steps.findIndex(({ kind }, index) => kind === 'check' && index > firstChange)
  if (lateCheck !== -1)
    throw new Error(`step ${lateCheck} is a check, but step ${firstChange} already changes the machine`)
}

async function attempt(run: Run, step: Step): Promise<Failure | undefined> {
  try {
    return await perform(run, step)
  } catch (error) {
    return { output: reasonOf(error), missing: false }
  }
}

async function perform(run: Run, step: Step): Promise<Failure | undefined> {
  switch (step.kind) {
    case 'check':
      return check(run, step)
    case 'replaceFile':
      return replaceFile(run, step)
    case 'removeFile':
      return removeFile(run, step)
    case 'values':
      return values(run, step)
    case 'keepOnly':
      return keepOnly(run, step)
    case 'run':
      return program(run, step)
    case 'unit':
      return unit(run, step)
    case 'setting':
      return setting(run, step)
    case 'network':
      return network(run, step)
    case 'account':
      return account(run, step)
    default:
      return socket(run, step)
  }
}

/** Undoes files and commands first, then units, each group newest first. Continues after a problem. */
async function undoAll(undos: readonly Undo[]): Promise<readonly string[]> {
  const problems: string[] = []
  const newestFirst = undos.toReversed()
  const ordered = [
    ...newestFirst.filter(({ order }) => order === 'file'),
    ...newestFirst.filter(({ order }) => order === 'unit'),
  ]
  for (const { run } of ordered) {
    try {
      const problem = await run()
      if (problem !== undefined) problems.push(`undo: ${problem}`)
    } catch (error) {
      problems.push(`undo: ${reasonOf(error)}`)
    }
  }
  return problems
}
