import { type Host, settingKey } from '../src/drivers/host.ts'
import type {
  AccountStep,
  CheckStep,
  NetworkStep,
  PlanResult,
  RemoveFileStep,
  ReplaceFileStep,
  RunStep,
  SettingStep,
  SocketStep,
  Step,
  UnitStep,
} from '../src/drivers/driver.ts'
import { isOurs } from '../src/drivers/fragment.ts'
import { deadline, refusedCommand } from './commands.ts'
import { rowProblem } from './read-back.ts'
import { takenPorts } from './taken-ports.ts'

export interface ExecutorHooks {
  /** Called before each step and, at the end, with the number of steps. What it throws ends the plan with nothing undone, as a kill would. */
  readonly beforeStep?: (index: number) => Promise<void> | void
}

/** Exit codes of a checker that did not come to judge: its deadline passed, or it could not be started. */
const NO_VERDICT: ReadonlySet<number> = new Set([124, 126])
/** Exit code of a run or unit whose deadline passed: how far it came is unknown. */
const TIMED_OUT = 124
/** For the undo of commands that were not answered in their time. */
const UNDO_UNANSWERED_MS = 500
/** With less than this left, the time for the commands is over; timers are not exact. */
const SPENT_MS = 20
/** Mode of a removed file that comes back, whose own mode is not kept: the strictest. */
const RESTORED_MODE = 0o600
/** Mode of what was found: only files that everybody may read are kept. */
const FOUND_MODE = 0o644

interface Failure {
  readonly output: string
  readonly missing: boolean
  /** What failed, when it was not what the step is about: a full disk is no verdict of a checker. */
  readonly instead?: { readonly kind: Step['kind']; readonly why: string }
}

/** What a step did, and how to take it back. Units are taken back last, when the files are as they were. */
interface Undo {
  readonly order: 'file' | 'unit'
  /** The problem, when it could not be taken back. */
  readonly run: () => Promise<string | undefined>
}

/** One run of one plan. */
interface Run {
  readonly host: Host
  readonly undos: Undo[]
  readonly warnings: string[]
  filesChanged: boolean
}

const startRun = (host: Host): Run => ({ host, undos: [], warnings: [], filesChanged: false })

/**
 * Carries out steps in order; on a failure takes back, in reverse, what was done. Expected failures are values.
 * Checks must come first: a plan never swaps a file before every program has judged its own.
 */
export async function executePlan(host: Host, steps: readonly Step[], hooks: ExecutorHooks = {}): Promise<PlanResult> {
  assertChecksFirst(steps)
  const run = startRun(host)
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

/** Runs only the checks of a plan and leaves no file behind. */
export async function checkPlan(host: Host, steps: readonly Step[]): Promise<PlanResult> {
  const run = startRun(host)
  let done = 0
  for (const [index, step] of steps.entries()) {
    if (step.kind !== 'check') continue
    const failure = await attempt(run, step)
    const problems = await undoAll(run.undos.splice(0))
    if (failure !== undefined) {
      const { kind, why } = failure.instead ?? step
      const { output, missing } = failure
      return { ok: false, failedStep: index, kind, why, output, missing, undone: problems.length === 0 }
    }
    done += 1
  }
  return { ok: true, done, recorded: 0, warnings: [] }
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
    return { output: messageOf(error), missing: false }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

async function perform(run: Run, step: Step): Promise<Failure | undefined> {
  switch (step.kind) {
    case 'check':
      return check(run, step)
    case 'replaceFile':
      return replaceFile(run, step)
    case 'removeFile':
      return removeFile(run, step)
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

async function check(run: Run, step: CheckStep): Promise<Failure | undefined> {
  const candidate = `${step.path}.candidate`
  run.undos.push({ order: 'file', run: () => silently(run.host.removeFile(candidate)) })
  try {
    await run.host.replaceFile(candidate, step.content, step.mode)
  } catch (error) {
    return { output: messageOf(error), missing: false, instead: { kind: 'replaceFile', why: `write ${candidate}` } }
  }
  const verdict = await run.host.run(step.argv, step.timeout_ms)
  const failure = failureOf(verdict)
  if (failure !== undefined) {
    return NO_VERDICT.has(verdict.exitCode) ? { ...failure, instead: { kind: 'run', why: step.why } } : failure
  }
  const taken = await takenPorts(run.host, step.ports ?? [])
  return taken.length === 0 ? undefined : { output: taken.join('\n'), missing: false }
}

async function replaceFile(run: Run, step: ReplaceFileStep): Promise<Failure | undefined> {
  const { host } = run
  const previous = await host.readFile(step.path)
  if (previous !== step.content) run.filesChanged = true
  if (step.keepsFound === true && previous !== undefined && !isOurs(previous)) {
    await host.found.set(foundFile(step.path), previous)
  }
  run.undos.push(fileUndo(host, step.path, previous, step.mode))
  if (step.checked) await host.renameFile(`${step.path}.candidate`, step.path)
  else await host.replaceFile(step.path, step.content, step.mode)
  return undefined
}

async function removeFile(run: Run, { path, givesBack }: RemoveFileStep): Promise<undefined> {
  const { host } = run
  const previous = await host.readFile(path)
  if (previous === undefined || (givesBack === true && !isOurs(previous))) return
  const found = givesBack === true ? await host.found.get(foundFile(path)) : undefined
  run.undos.push(fileUndo(host, path, previous, found === undefined ? RESTORED_MODE : FOUND_MODE))
  run.filesChanged = true
  if (found === undefined) await host.removeFile(path)
  else await host.replaceFile(path, found, FOUND_MODE)
}

const foundFile = (path: string) => `file ${path}`

async function program({ host, undos }: Run, step: RunStep): Promise<Failure | undefined> {
  const { argv, undo, timeout_ms, expect } = step
  if (undo !== 'irreversible' && undo.length > 0) {
    undos.push({ order: 'file', run: async () => problemOf(await host.run(undo, timeout_ms)) })
  }
  const recordedBefore = host.recorded
  const result = await host.run(argv, timeout_ms)
  // What was only recorded has no output to judge.
  if (result.exitCode !== 0 || expect === undefined || host.recorded > recordedBefore) return failureOf(result)
  const unexpected = unexpectedLines(result.output, expect)
  return unexpected === undefined ? undefined : { output: unexpected, missing: false }
}

function unexpectedLines(output: string, { prefix, lines }: NonNullable<RunStep['expect']>): string | undefined {
  const found = output.split('\n').filter((line) => line.startsWith(prefix))
  const differs = found.some((line) => !lines.includes(line)) || lines.some((line) => !found.includes(line))
  return differs ? `expected ${lines.join(', ')}, found ${found.join(', ') || 'nothing'}` : undefined
}

/** What was found before the first change is kept before it is changed: a crash in between loses nothing. */
async function setting({ host, undos }: Run, step: SettingStep): Promise<Failure | undefined> {
  const key = settingKey(step.setting)
  const before = await host.readSetting(step.setting)
  if (before === undefined) {
    if (step.isOptional || step.value === undefined) return undefined
    return { output: `this machine has no ${key}`, missing: true }
  }
  const found = await host.found.get(key)
  const wanted = step.value ?? found
  if (wanted === undefined || wanted === before) return undefined
  if (found === undefined) await host.found.set(key, before)
  undos.push({
    order: 'file',
    run: async () => problemOf(await host.writeSetting(step.setting, before, step.timeout_ms)),
  })
  const failure = failureOf(await host.writeSetting(step.setting, wanted, step.timeout_ms))
  if (failure !== undefined) return failure
  const now = await host.readSetting(step.setting)
  return now === wanted ? undefined : { output: `${key} is ${now ?? 'gone'} and not ${wanted}`, missing: false }
}

async function network({ host, undos, warnings }: Run, step: NetworkStep): Promise<Failure | undefined> {
  const outcome = await host.network(step.desired, step.phase, step.timeout_ms)
  const { undo } = outcome
  if (undo !== undefined) undos.push({ order: 'file', run: async () => problemOf(await undo()) })
  warnings.push(...outcome.warnings)
  return failureOf(outcome)
}

async function account({ host }: Run, { change, timeout_ms }: AccountStep): Promise<Failure | undefined> {
  return failureOf(await host.account(change, timeout_ms))
}

function fileUndo(host: Host, path: string, previous: string | undefined, mode: number): Undo {
  const restore = (): Promise<void> =>
    previous === undefined ? host.removeFile(path) : host.replaceFile(path, previous, mode)
  return { order: 'file', run: () => silently(restore()) }
}

async function unit({ host, undos, filesChanged }: Run, step: UnitStep): Promise<Failure | undefined> {
  const { unit: name, verb, undo, timeout_ms, whenUnchanged } = step
  if (whenUnchanged === 'skip' && !filesChanged && (await host.unitState(name)) === 'running') return undefined
  const ranBefore = undo === 'asFound' && (await host.unitState(name)) === 'running'
  const outcome = await host.unit(name, verb, timeout_ms)
  // A refused reload leaves the program as it was: reloading again would only cost it its counters.
  const untouched = verb === 'reload' && outcome.exitCode !== 0 && outcome.exitCode !== TIMED_OUT
  if (undo !== 'none' && !untouched) {
    const back = undo === 'asFound' ? (ranBefore ? 'restart' : 'stop') : undo
    undos.push({ order: 'unit', run: async () => problemOf(await host.unit(name, back, timeout_ms)) })
  }
  return failureOf(outcome)
}

async function socket({ host, undos }: Run, step: SocketStep): Promise<Failure | undefined> {
  const left_ms = deadline(step.timeout_ms)
  undos.push({
    order: 'file',
    // Who has used up the time for the commands will hardly answer their undo: that is worth a moment only.
    run: () =>
      refusedCommand(host, step.path, step.undo, deadline(left_ms() > SPENT_MS ? step.timeout_ms : UNDO_UNANSWERED_MS)),
  })
  const refused = await refusedCommand(host, step.path, step.commands, left_ms)
  if (refused !== undefined) return { output: refused, missing: false }
  for (const { request, rows } of step.readBack) {
    const problem = rowProblem(await host.socket(step.path, request, left_ms()), rows)
    if (problem !== undefined) return { output: `${request}: ${problem}`, missing: false }
  }
  return undefined
}

/** Units last, files and commands before them, each group newest first. Goes on after a problem. */
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
      problems.push(`undo: ${messageOf(error)}`)
    }
  }
  return problems
}

async function silently(work: Promise<void>): Promise<undefined> {
  await work
  return undefined
}

interface Outcome {
  readonly exitCode: number
  readonly output: string
}

function failureOf({ exitCode, output }: Outcome): Failure | undefined {
  return exitCode === 0 ? undefined : { output, missing: exitCode === 127 }
}

function problemOf({ exitCode, output }: Outcome): string | undefined {
  return exitCode === 0 ? undefined : output
}
