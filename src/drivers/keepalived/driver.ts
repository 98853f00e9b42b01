import type { ConfigView, RecordChange } from '../../model/sections.ts'
import { writtenHere } from '../fragment.ts'
import type { ChangeEffect, Driver, PlanOptions, RunStep, Step } from '../driver.ts'
import type { Setting } from '../host.ts'
import { checkFiles, checkSteps } from './check-files.ts'
import { diagnoseOutput } from './diagnose.ts'
import { FALLBACK_TEXT, fallbackCommand } from './fallback.ts'
import { goneMaps, NO_MARKS, renderMarks, TABLE } from './nftables.ts'
import { CONFIG_FILE, FALLBACK_PROGRAM, MARKS_FILE, MODULES_FILE, SYSCTL_FILE, WEIGHTS_FOLDER } from './paths.ts'
import { loadedFile, readBack } from './read-back.ts'
import { loadedName, renderConfig } from './render.ts'
import { type Served, servedFrontends } from './services.ts'
import { kernelValues } from './kernel.ts'
import { verifyConfig } from './verify.ts'
import { weightValues } from './weights.ts'

/** Passwords of checks may be in it. */
const CONFIG_MODE = 0o600
const OPEN_MODE = 0o644
const PROGRAM_MODE = 0o755
const CHECK_TIMEOUT_MS = 60_000
const TIMEOUT_MS = 30_000
const IPVS: Setting = { kind: 'kernelModule', name: 'ip_vs' }
const SERVICE: Setting = { kind: 'unitEnabled', unit: 'ipvsDirector' }

/** A configuration in the eyes of this driver. */
interface Director {
  readonly served: readonly Served[]
  readonly view: ConfigView
}

/** IPVS through keepalived. Without a frontend that serves, keepalived is as it was found. */
export function keepalivedDriver(): Driver {
  const director = (view: ConfigView): Director => ({ served: servedFrontends(view), view })
  return {
    name: 'ipvsDirector',
    sections: ['l4Frontends', 'l4Backends', 'realServers', 'healthChecks', 'floatingIps'],
    makesAnew: true,
    prepare: () => [],
    verify: verifyConfig,
    plan: (running, desired, options) =>
      plan(running === undefined ? undefined : director(running), director(desired), options),
    effectOf: (change, running, desired) => effectOf(change, director(running), director(desired)),
    render: (desired) => previews(director(desired)),
    diagnose: diagnoseOutput,
  }
}

const isNothing = ({ served }: Director): boolean => served.length === 0
const text = ({ served }: Director): string => renderConfig(served)
const structure = ({ served }: Director): string => renderConfig(served, 'structure')

function previews(director: Director) {
  if (isNothing(director)) return []
  return [
    { path: CONFIG_FILE, content: text(director) },
    { path: MARKS_FILE, content: renderMarks(director.served) },
    ...checkFiles(director.served, director.view),
    ...bootFiles(director),
  ]
}

function effectOf(change: RecordChange, running: Director, desired: Director): ChangeEffect | undefined {
  const sections: readonly string[] = ['l4Frontends', 'l4Backends', 'realServers', 'floatingIps', 'healthChecks']
  if (!sections.includes(change.section)) return undefined
  const isOurs = [...running.served, ...desired.served].some(({ frontend, backend, destinations }) => {
    if (change.section === 'l4Frontends') return frontend.id === change.id
    if (change.section === 'l4Backends') return backend.id === change.id
    if (change.section === 'healthChecks') return backend.healthCheck.id === change.id
    return change.section === 'floatingIps' || destinations.some(({ ripId }) => ripId === change.id)
  })
  if (!isOurs) return undefined
  if (isNothing(desired)) return 'restart'
  return isStructural(running, desired) ? 'reload' : 'runtime'
}

const isStructural = (running: Director, desired: Director): boolean =>
  structure(running) !== structure(desired) || renderMarks(running.served) !== renderMarks(desired.served)

function plan(running: Director | undefined, desired: Director, { atLeast }: PlanOptions): readonly Step[] {
  if (isNothing(desired)) return running === undefined || isNothing(running) ? [] : givenBack(running)
  const isRuntime = running !== undefined && atLeast === 'runtime' && !isStructural(running, desired)
  return isRuntime ? runtimePlan(running, desired) : wholePlan(running, desired, atLeast)
}

/** Weights and states: keepalived watches the files. */
function runtimePlan(running: Director, desired: Director): readonly Step[] {
  const before = weightValues(running.served)
  const changed = new Map([...weightValues(desired.served)].filter(([name, value]) => before.get(name) !== value))
  const kept: Step[] =
    text(running) === text(desired) ? [] : [{ ...configStep(desired), why: 'keep keepalived.conf equal to what runs' }]
  const scripts = checkSteps(desired.served, desired.view, running)
  if (changed.size === 0) return [...scripts, ...kept]
  return [...scripts, valuesStep(changed, false), ...kept, { ...readBack(desired.served, changed), isRuntime: true }]
}

function wholePlan(running: Director | undefined, desired: Director, atLeast: PlanOptions['atLeast']): readonly Step[] {
  const isAdoption = running === undefined && atLeast === 'runtime'
  const verb = atLeast === 'restart' ? 'restart' : 'reload'
  const values = weightValues(desired.served)
  return [
    checkStep(desired),
    marksCheck(desired),
    setting(IPVS, 'loaded', 'load IPVS, the balancer of the kernel'),
    ...bootFiles(desired).map((file): Step => ({ ...replace(file.path, file.content, OPEN_MODE), checked: false })),
    ...[...kernelValues(desired.served)].map(([key, value]) => setting({ kind: 'sysctl', key }, value, `set ${key}`)),
    ...returned(running, desired),
    ...checkSteps(desired.served, desired.view, running),
    marksRun(running),
    { ...replace(MARKS_FILE, renderMarks(desired.served), OPEN_MODE), why: 'put the firewall marks in place' },
    ...fallbackProgram(desired),
    valuesStep(values, running === undefined),
    { ...configStep(desired), checked: true, keepsFound: true },
    ...goneFallbacks(running, desired),
    ...(isAdoption ? [] : [forgetLoaded(desired)]),
    {
      kind: 'unit',
      why: verb === 'restart' ? 'restart keepalived' : 'reload keepalived without dropping a connection',
      timeout_ms: TIMEOUT_MS,
      unit: 'ipvsDirector',
      verb,
      undo: running === undefined || isNothing(running) ? 'asFound' : verb,
      whenUnchanged: isAdoption ? 'skip' : 'act',
    },
    ...goneMarks(running, desired),
    setting(SERVICE, 'enabled', 'have keepalived run, after a boot as well'),
    ...(isAdoption ? [] : [loadedFile(loadedName(text(desired)))]),
    readBack(desired.served, undefined),
    ...standIns(desired),
    ...(running === undefined ? [] : [valuesStep(values, true)]),
  ]
}

function checkStep(director: Director): Step {
  return {
    kind: 'check',
    why: 'let keepalived judge the new configuration',
    timeout_ms: CHECK_TIMEOUT_MS,
    path: CONFIG_FILE,
    content: text(director),
    mode: CONFIG_MODE,
    argv: ['keepalived', '--config-test', '--use-file', `${CONFIG_FILE}.candidate`],
  }
}

function marksCheck({ served }: Director): Step {
  return {
    kind: 'check',
    why: 'let nft judge the firewall marks',
    timeout_ms: TIMEOUT_MS,
    path: MARKS_FILE,
    content: renderMarks(served),
    mode: OPEN_MODE,
    argv: ['nft', '--check', '--file', `${MARKS_FILE}.candidate`],
  }
}

/** As one change of the kernel's. Its undo reads the file that is still the one of before. */
function marksRun(running: Director | undefined): Step {
  const had = running !== undefined && renderMarks(running.served) !== NO_MARKS
  return {
    kind: 'run',
    why: 'mark the packets of frontends with several ports or with persistence',
    timeout_ms: TIMEOUT_MS,
    argv: ['nft', '--file', `${MARKS_FILE}.candidate`],
    undo: had ? ['nft', '--file', MARKS_FILE] : running === undefined ? 'irreversible' : NO_TABLE,
  }
}
function goneMarks(running: Director | undefined, desired: Director): readonly Step[] {
  const gone = running === undefined ? [] : goneMaps(renderMarks(running.served), renderMarks(desired.served))
  return gone.length === 0 ? [] : [command(['nft', gone.join('; ')], 'forget the marks of before')]
}

/** Not there is as good as deleted. */
const NO_TABLE = ['nft', `add table inet ${TABLE}; delete table inet ${TABLE}`] as const

const replace = (path: string, content: string, mode: number) =>
  ({ kind: 'replaceFile', why: `write ${path}`, timeout_ms: TIMEOUT_MS, path, content, mode, checked: true }) as const

const configStep = (director: Director) => ({
  ...replace(CONFIG_FILE, text(director), CONFIG_MODE),
  why: 'put the checked keepalived.conf in place',
  checked: false,
})

function valuesStep(values: ReadonlyMap<string, string>, keepsOnly: boolean): Step {
  const why = keepsOnly ? 'keep no weight of a real server that is gone' : `set ${values.size} weights`
  return { kind: 'values', why, timeout_ms: TIMEOUT_MS, folder: WEIGHTS_FOLDER, values, keepsOnly }
}

function setting(wanted: Setting, value: string | undefined, why: string): Step {
  return { kind: 'setting', why, timeout_ms: TIMEOUT_MS, setting: wanted, value, isOptional: value === undefined }
}

/** The kernel's values are set at boot before keepalived starts. */
function bootFiles({ served }: Director) {
  const lines = [...kernelValues(served)].map(([key, value]) => `${key} = ${value}`)
  return [
    { path: MODULES_FILE, content: writtenHere(['ip_vs']) },
    { path: SYSCTL_FILE, content: writtenHere(lines) },
  ]
}

/** Values of the kernel that are no longer wanted, as they were found. */
function returned(running: Director | undefined, desired: Director | undefined): readonly Step[] {
  const wanted = desired === undefined ? new Map<string, string>() : kernelValues(desired.served)
  return [...(running === undefined ? [] : kernelValues(running.served).keys())]
    .filter((key) => !wanted.has(key))
    .map((key) => setting({ kind: 'sysctl', key }, undefined, `give ${key} back as it was found`))
}

const command = (argv: readonly string[], why: string): RunStep => ({
  kind: 'run',
  why,
  timeout_ms: TIMEOUT_MS,
  argv,
  undo: 'irreversible',
})

const forgetLoaded = (director: Director): Step => ({
  kind: 'removeFile',
  why: 'see keepalived read its configuration anew',
  timeout_ms: TIMEOUT_MS,
  path: `${WEIGHTS_FOLDER}/${loadedName(text(director))}`,
})

/** keepalived does not know of them: what it did not put into the table it does not take out. */
function goneFallbacks(running: Director | undefined, desired: Director): readonly Step[] {
  const wanted = new Set(desired.served.map((served) => fallbackCommand(served, 'remove').join(' ')))
  return (running?.served ?? [])
    .filter((served) => served.backend.fallback !== null)
    .map((served) => fallbackCommand(served, 'remove'))
    .filter((argv) => !wanted.has(argv.join(' ')))
    .map((argv) => command(argv, 'take a fallback out that is no longer one'))
}

const fallbackProgram = ({ served }: Director): readonly Step[] =>
  served.some(({ backend }) => backend.fallback !== null)
    ? [{ ...replace(FALLBACK_PROGRAM, FALLBACK_TEXT, PROGRAM_MODE), checked: false }]
    : []

/** keepalived tells of servers that go, not of those that were never there. */
function standIns({ served }: Director): readonly Step[] {
  return served
    .filter(
      ({ backend, destinations }) => backend.fallback !== null && destinations.every(({ share }) => !takes(share)),
    )
    .map((one) => command(fallbackCommand(one, 'add'), `let the fallback of ${one.frontend.id} stand in`))
}

const takes = (share: Served['destinations'][number]['share']): boolean => share !== 'halted' && share > 0

function givenBack(running: Director): readonly Step[] {
  const remove = (path: string): Step => ({
    kind: 'removeFile',
    why: `give ${path} back as it was found`,
    timeout_ms: TIMEOUT_MS,
    path,
    givesBack: true,
    foundMode: CONFIG_MODE,
  })
  return [
    {
      kind: 'unit',
      why: 'stop keepalived, which takes its services out of the kernel',
      timeout_ms: TIMEOUT_MS,
      unit: 'ipvsDirector',
      verb: 'stop',
      undo: 'start',
      whenUnchanged: 'act',
    },
    remove(CONFIG_FILE),
    command(NO_TABLE, 'mark no packets any more'),
    ...[MARKS_FILE, MODULES_FILE, SYSCTL_FILE].map(remove),
    // No file of configuration: its first line says what runs it.
    { kind: 'removeFile', why: 'remove the program of fallbacks', timeout_ms: TIMEOUT_MS, path: FALLBACK_PROGRAM },
    ...returned(running, undefined),
    ...checkSteps([], running.view, running),
    { ...setting(SERVICE, undefined, 'leave keepalived as it was found') },
    valuesStep(new Map(), true),
  ]
}
