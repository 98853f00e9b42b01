import type {
  CheckStep,
  FileContent,
  KeepOnlyStep,
  RemoveFileStep,
  ReplaceFileStep,
  ValuesStep,
} from '../src/drivers/driver.ts'
import { isOurs } from '../src/drivers/fragment.ts'
import type { Host } from '../src/drivers/host.ts'
import { withInterfaceNames } from '../src/drivers/interface-names.ts'
import {
  aboutToChange,
  captureBeside,
  type Failure,
  failureOf,
  forgetFound,
  type Run,
  type Undo,
  wordsOf,
} from './step-run.ts'
import { reasonOf } from '../src/base/reason.ts'
import { takenPorts } from './taken-ports.ts'

/** Exit codes of a checker that reached no verdict: its deadline passed, or it could not be started. */
const NO_VERDICT: ReadonlySet<number> = new Set([124, 126])
/** Readable for the account of the program that watches the values. */
const VALUE_MODE = 0o644
/** Mode of the copy of a found file, which may hold passwords, whatever its own mode was. */
const COPY_MODE = 0o600
/** Replacement for bytes that were no text. */
const UNDECODED = '\uFFFD'
/** The unit's view of the machine is fixed when it starts: folders that were created later stay closed to it. */
const RESTART_UNIT = '; if its program was installed a moment ago, run "systemctl restart fulcrum" as root'
/** Mode of a found file that is restored, unless a step requires that it is not readable by all users. */
const FOUND_MODE = 0o644

export async function check(run: Run, step: CheckStep): Promise<Failure | undefined> {
  const candidate = `${step.path}.candidate`
  const missing = await missingOf(run.host, step, candidate)
  if (missing !== undefined) return missing
  run.undos.push({ order: 'file', run: () => silently(run.host.removeFile(candidate)) })
  try {
    for (const file of step.beside ?? []) await writeBeside(run, file, step.mode)
    const content = await contentOf(run.host, step)
    // Content that is already in place is checked there: a full disk has no room for a second copy.
    const isInPlace = (await run.host.readFile(step.path)) === content
    // A candidate left by a killed plan is outdated.
    if (isInPlace) {
      await run.host.removeFile(candidate)
      run.inPlace.set(candidate, step.path)
    } else await run.host.replaceFile(candidate, content, step.mode)
  } catch (error) {
    const output = `${reasonOf(error)}${isReadOnly(error) ? RESTART_UNIT : ''}`
    return { output, missing: false, instead: { kind: 'replaceFile', why: `write ${candidate}` } }
  }
  captureBeside(run)
  const verdict = await run.host.run(wordsOf(run, step.argv), step.timeout_ms, step.outside)
  const failure = failureOf(verdict)
  if (failure !== undefined) {
    return NO_VERDICT.has(verdict.exitCode) ? { ...failure, instead: { kind: 'run', why: step.why } } : failure
  }
  const taken = await takenPorts(run.host, step.ports ?? [])
  return taken.length === 0 ? undefined : { output: taken.join('\n'), missing: false }
}

/** Nothing is written for a program that is not installed; its folder may not exist either. */
async function missingOf(host: Host, { argv }: CheckStep, candidate: string): Promise<Failure | undefined> {
  const [program = ''] = argv
  const missing = program === candidate ? undefined : await host.missingProgram(program)
  return missing === undefined ? undefined : failureOf(missing)
}

const isReadOnly = (error: unknown): boolean => Reflect.get(Object(error), 'code') === 'EROFS'

async function contentOf(
  host: Host,
  { content, namesInterfaces }: Pick<ReplaceFileStep, 'content' | 'namesInterfaces'>,
): Promise<string> {
  return namesInterfaces === true ? withInterfaceNames(content, await host.interfaceNames()) : content
}

/** Writes a file that the checker reads besides the candidate. A file that already has the content is not touched. */
async function writeBeside(run: Run, { path, content }: FileContent, mode: number): Promise<void> {
  const previous = await run.host.readFile(path)
  if (previous === content) return
  await aboutToChange(run)
  run.undos.push(await fileUndo(run.host, path))
  await run.host.replaceFile(path, content, mode)
}

export async function keepOnly(
  { host, undos }: Run,
  { folder, names }: Pick<KeepOnlyStep, 'folder' | 'names'>,
): Promise<undefined> {
  const kept = new Set(names)
  for (const name of await host.listFiles(folder)) {
    if (kept.has(name)) continue
    const path = `${folder}/${name}`
    undos.push(await fileUndo(host, path))
    await host.removeFile(path)
  }
}

export async function values(run: Run, { folder, values: needed, ifThere, keepsOnly }: ValuesStep): Promise<undefined> {
  const { host, undos } = run
  const there = new Set(ifThere.length === 0 ? [] : await host.listFiles(folder))
  const known = ifThere.filter(([name]) => there.has(name))
  for (const [name, content] of [...needed, ...known]) {
    const path = `${folder}/${name}`
    const previous = await host.readFile(path)
    if (previous === content) continue
    undos.push(await fileUndo(host, path))
    await host.replaceFile(path, content, VALUE_MODE)
  }
  if (keepsOnly) await keepOnly(run, { folder, names: [...needed, ...ifThere].map(([name]) => name) })
}

export async function replaceFile(run: Run, step: ReplaceFileStep): Promise<Failure | undefined> {
  const { host } = run
  const content = await contentOf(host, step)
  const previous = await host.readFile(step.path)
  if (previous !== content) await aboutToChange(run)
  if (previous !== undefined && !isOurs(previous)) {
    if (step.keepsFound === true) await keepFound(run, step.path, previous)
    if (step.foundCopy !== undefined && (await host.readFile(step.foundCopy)) === undefined)
      await host.copyFile(step.path, step.foundCopy, COPY_MODE)
  }
  run.undos.push(await fileUndo(host, step.path))
  if (step.checked && previous !== content) await host.renameFile(`${step.path}.candidate`, step.path)
  else await host.replaceFile(step.path, content, step.mode)
  return undefined
}

export async function removeFile(
  run: Run,
  { path, givesBack, foundMode = FOUND_MODE }: RemoveFileStep,
): Promise<undefined> {
  const { host } = run
  // Files left by a kill during a check or a write: they may hold a secret that is no longer wanted.
  for (const left of [`${path}.candidate`, `${path}.candidate.new`, `${path}.new`])
    if ((await host.readFile(left)) !== undefined) await host.removeFile(left)
  const previous = await host.readFile(path)
  if (previous === undefined || (givesBack === true && !isOurs(previous))) {
    if (givesBack === true) await forgetFound(run, foundFile(path))
    return
  }
  const found = givesBack === true ? await host.found.get(foundFile(path)) : undefined
  run.undos.push(await fileUndo(host, path))
  await aboutToChange(run)
  if (found === undefined) await host.removeFile(path)
  else await host.replaceFile(path, found, foundMode)
  if (found !== undefined) await forgetFound(run, foundFile(path))
}

/** Called before the file is changed. The undo runs after the file was restored. */
async function keepFound({ host, undos }: Run, path: string, content: string): Promise<void> {
  if (content.includes(UNDECODED)) {
    const advice = `convert it with iconv, or move it away`
    throw new Error(`${path} is not in UTF-8, so it could not be restored as it was found: ${advice}`)
  }
  const key = foundFile(path)
  const kept = await host.found.get(key)
  undos.push({ order: 'file', run: () => silently(host.found.set(key, kept)) })
  await host.found.set(key, content)
}

const foundFile = (path: string) => `file ${path}`

async function fileUndo(host: Host, path: string): Promise<Undo> {
  const putBack = await host.keepFile(path)
  return { order: 'file', run: () => silently(putBack()) }
}

async function silently(work: Promise<void>): Promise<undefined> {
  await work
  return undefined
}
