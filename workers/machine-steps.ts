import { setTimeout as sleep } from 'node:timers/promises'
import type {
  AccountStep,
  Expectation,
  NetworkStep,
  ReadBack,
  RunStep,
  SettingStep,
  SocketStep,
  UnitStep,
} from '../src/drivers/driver.ts'
import { type RunResult, type Setting, settingKey, type UnitName } from '../src/drivers/host.ts'
import { deadline, refusedCommand } from './commands.ts'
import { lineProblem, rowProblem } from './read-back.ts'
import { captureBefore, type Failure, failureOf, forgetFound, problemOf, type Run, wordsOf } from './step-run.ts'

/** States in which a unit runs, see the setting `unitEnabled`. */
const RUNNING: ReadonlySet<string> = new Set(['enabled', 'disabled running'])
/** Exit code of a program or unit whose deadline passed: how far it came is unknown. */
const TIMED_OUT = 124
/** Time for the undo of commands that timed out. */
const UNDO_UNANSWERED_MS = 500
/** With less than this left, the time for the commands counts as used up; timers are not exact. */
const SPENT_MS = 20
/** Brief connections end within this time; longer ones need a reload. */
const QUIET_WITHIN_MS = 500
const QUIET_LOOK_MS = 10
/** Delay between two looks at an expected result. */
const PATIENCE_MS = 100

export async function program(run: Run, step: RunStep): Promise<Failure | undefined> {
  const { host, undos } = run
  const { undo, timeout_ms, outside, expect, mayFail } = step
  const argv = wordsOf(run, step.argv)
  if (undo !== 'irreversible' && undo.length > 0) {
    undos.push({ order: 'file', run: async () => problemOf(await host.run(undo, timeout_ms)) })
  }
  const recordedBefore = host.recorded
  const left_ms = deadline(timeout_ms)
  for (;;) {
    // Each look has the full timeout: one that is cut short by the end of the wait would prove nothing.
    const result = await host.run(argv, timeout_ms, outside, expect === undefined ? 'beginning' : 'all')
    // A recorded command has no output to judge.
    if (result.exitCode !== 0 || expect === undefined || host.recorded > recordedBefore) {
      return mayFail === true ? undefined : failureOf(result)
    }
    const unexpected = unexpectedOutput(result.output, expect)
    if (unexpected === undefined) return undefined
    if ('lines' in expect || left_ms() < PATIENCE_MS) return { output: unexpected, missing: false }
    await sleep(PATIENCE_MS)
  }
}

function unexpectedOutput(output: string, expect: Expectation): string | undefined {
  if ('comes' in expect) return output.includes(expect.comes) ? undefined : expect.otherwise
  if ('ends' in expect) return wrongLine(output.split('\n'), expect)
  const { prefix, lines } = expect
  const found = output.split('\n').filter((line) => line.startsWith(prefix))
  const differs = found.some((line) => !lines.includes(line)) || lines.some((line) => !found.includes(line))
  return differs ? `expected ${lines.join(', ')}, found ${found.join(', ') || 'nothing'}` : undefined
}

function wrongLine(
  lines: readonly string[],
  { begins, ends }: Extract<Expectation, { readonly ends: unknown }>,
): string | undefined {
  // Sorted, so that each beginning is found quickly among thousands.
  const sorted = lines.toSorted()
  const missing = begins.find((beginning) => !(sorted[firstFrom(sorted, beginning)] ?? '').startsWith(beginning))
  if (missing !== undefined) return `found no ${missing.trim()}`
  for (const { beginning, end } of ends) {
    for (let at = firstFrom(sorted, beginning); sorted[at]?.startsWith(beginning) === true; at++) {
      const line = sorted[at]?.trimEnd() ?? ''
      if (end === undefined || !line.endsWith(end)) return `found ${line}, expected ${end ?? 'none'}`
    }
  }
  return undefined
}

/** Returns the index of the first line that is not less than `text`. */
function firstFrom(sorted: readonly string[], text: string): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? '') < text) low = middle + 1
    else high = middle
  }
  return low
}

/** Stores the found value before the first change, so that a crash in between loses nothing. */
export async function setting(run: Run, step: SettingStep): Promise<Failure | undefined> {
  const { host, undos } = run
  const key = settingKey(step.setting)
  const before = await host.readSetting(step.setting)
  if (before === undefined) {
    if (step.isOptional || step.value === undefined) return undefined
    return { output: `this machine has no ${key}`, missing: true }
  }
  const found = await host.found.get(key)
  const wanted = step.value ?? found
  const givesBack = step.value === undefined
  if (wanted === undefined || wanted === before) {
    if (givesBack) await forgetFound(run, key)
    return undefined
  }
  if (found === undefined) await host.found.set(key, before)
  noteWhetherItRan(run, step.setting, before)
  undos.push({
    order: 'file',
    run: async () => {
      const problem = problemOf(await host.writeSetting(step.setting, before, step.timeout_ms))
      // The found value is in force again: it is its owner's, whose later changes are not ours to store.
      if (problem === undefined) await host.found.set(key, found)
      return problem
    },
  })
  const failure = failureOf(await host.writeSetting(step.setting, wanted, step.timeout_ms))
  if (failure !== undefined) return failure
  const now = await host.readSetting(step.setting)
  if (now !== wanted) return { output: `${key} is ${now ?? 'missing'} and not ${wanted}`, missing: false }
  if (givesBack) await forgetFound(run, key)
  return undefined
}

/** Enabling a unit also starts it, so the undo of the plan must stop it. */
function noteWhetherItRan({ ran }: Run, changed: Setting, before: string): void {
  if (changed.kind === 'unitEnabled' && !ran.has(changed.unit)) ran.set(changed.unit, RUNNING.has(before))
}

const ranFirst = async ({ ran, host }: Run, name: UnitName): Promise<boolean> =>
  ran.get(name) ?? (await host.unitState(name)) === 'running'

export async function network({ host, undos, warnings }: Run, step: NetworkStep): Promise<Failure | undefined> {
  const outcome = await host.network(step.desired, step.phase, step.timeout_ms)
  const { undo } = outcome
  if (undo !== undefined && step.keepsPart !== true)
    undos.push({ order: 'file', run: async () => problemOf(await undo()) })
  warnings.push(...outcome.warnings)
  return failureOf(outcome)
}

export async function account({ host }: Run, { change, timeout_ms }: AccountStep): Promise<Failure | undefined> {
  return failureOf(await host.account(change, timeout_ms))
}

export async function unit(run: Run, step: UnitStep): Promise<Failure | undefined> {
  const { host, undos, warnings } = run
  const { unit: name, verb, undo, timeout_ms, unread } = step
  if (await isLeftAlone(run, step)) return undefined
  const isAsked = undo === 'asFound' || (verb === 'reload' && undo !== 'none')
  const ranBefore = isAsked && (await ranFirst(run, name))
  if (step.endsCounting === true) await captureBefore(run, verb)
  const outcome = await host.unit(name, verb, timeout_ms)
  const untouched = isRefusedReload(verb, outcome) && (!ranBefore || (await host.unitState(name)) === 'running')
  if (undo !== 'none' && !untouched) {
    const asFound = ranBefore ? 'restart' : 'stop'
    const back = undo === 'asFound' ? asFound : undo
    undos.push({ order: 'unit', run: async () => problemOf(await host.unit(name, back, timeout_ms)) })
  }
  warnings.push(...saidWell(outcome))
  if (unread !== undefined && outcome.exitCode === 0) await host.removeFile(unread)
  return failureOf(outcome)
}

async function isLeftAlone({ host, filesChanged }: Run, step: UnitStep): Promise<boolean> {
  const { unit: name, verb, whenUnchanged, unread } = step
  if (whenUnchanged === 'act' || filesChanged) return false
  if (unread !== undefined && (await host.readFile(unread)) !== undefined) return false
  return verb === 'stop' || (await host.unitState(name)) === 'running'
}

/** A successful unit has output only when something hung. */
const saidWell = ({ exitCode, output }: RunResult): readonly string[] =>
  exitCode === 0 && output !== '' ? [output] : []

/**
 * A refused reload leaves the program as it was: another reload would only cost its counters. If the program ended, as
 * sshd does when its port is taken, it must be started again.
 */
function isRefusedReload(verb: UnitStep['verb'], { exitCode }: RunResult): boolean {
  return verb === 'reload' && exitCode !== 0 && exitCode !== TIMED_OUT
}

export async function socket({ host, undos, capture }: Run, step: SocketStep): Promise<Failure | undefined> {
  let left_ms = deadline(step.timeout_ms)
  undos.push({
    order: 'file',
    // A program that has used up the time for the commands will hardly answer their undo, which gets only a moment.
    run: () =>
      refusedCommand(host, step.path, step.undo, deadline(left_ms() > SPENT_MS ? step.timeout_ms : UNDO_UNANSWERED_MS)),
  })
  const ending = step.commands.filter(({ endsCounting }) => endsCounting === true)
  const others = ending.length === 0 ? step.commands : step.commands.filter(({ endsCounting }) => endsCounting !== true)
  let refused = await refusedCommand(host, step.path, others, left_ms)
  if (refused === undefined && ending.length > 0) {
    refused = await untilSo(host, step, step.quiet ?? [])
    if (refused === undefined) await capture()
    left_ms = deadline(step.timeout_ms)
    refused ??= await refusedCommand(host, step.path, ending, left_ms)
    // A unit that returns begins at zero: its absence must be seen, or its counters would seem cleared.
    if (refused === undefined) await capture()
  }
  refused ??= await unlike(host, step.path, step.readBack, left_ms)
  return refused === undefined ? undefined : { output: refused, missing: false }
}

/** Returns the first of these expectations that is not met, or undefined. */
async function unlike(
  host: Run['host'],
  path: string,
  expected: readonly ReadBack[],
  left_ms: () => number,
): Promise<string | undefined> {
  for (const { request, rows, lines } of expected) {
    const answer = await host.socket(path, request, left_ms())
    const problem = (rows && rowProblem(answer, rows)) ?? (lines && lineProblem(answer, lines))
    if (problem !== undefined) return `${request}: ${problem}`
  }
  return undefined
}

/** Like `unlike`, but retries for a moment. */
async function untilSo(host: Run['host'], { path, timeout_ms }: SocketStep, expected: readonly ReadBack[]) {
  const left_ms = deadline(Math.min(timeout_ms, QUIET_WITHIN_MS))
  for (;;) {
    const problem = await unlike(host, path, expected, deadline(timeout_ms))
    if (problem === undefined || left_ms() <= QUIET_LOOK_MS) return problem
    await sleep(QUIET_LOOK_MS)
  }
}
