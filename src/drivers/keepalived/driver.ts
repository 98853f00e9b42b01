import type { ConfigView } from '../../model/sections.ts'
import { writtenHere } from '../fragment.ts'
import type { Driver, PlanOptions, Step } from '../driver.ts'
import type { Setting } from '../host.ts'
import { nodeIn } from '../this-node.ts'
import { checkFiles, checkTidying, checkWrites } from './check-files.ts'
import { syncProblems, syncStatement } from './connection-sync.ts'
import { diagnoseOutput } from './diagnose.ts'
import { fallbackGone, fallbackProgram, goneFallbacks, NO_PROGRAMS, standIns } from './fallback-steps.ts'
import { goneMaps, NO_MARKS, renderMarks, TABLE } from './nftables.ts'
import { ARGUMENTS_FILE, CONFIG_FILE, MARKS_FILE, MODULES_FILE, SYSCTL_FILE, WEIGHTS_FOLDER } from './paths.ts'
import { loadedFile, readBack } from './read-back.ts'
import { effectOf, isSameStructure } from './effect.ts'
import { loadedName, prepareService, renderConfig } from './render.ts'
import { type Served, servedFrontends, servedPortions } from './services.ts'
import {
  command,
  CONFIG_MODE,
  configCheck,
  keepWeights,
  marksCheck,
  OPEN_MODE,
  replace,
  setting,
  TIMEOUT_MS,
  valuesStep,
} from './steps.ts'
import { kernelValues } from './kernel.ts'
import { verifyConfig } from './verify.ts'
import { weightChange, weightValues, wholeWeights } from './weights.ts'

const IPVS: Setting = { kind: 'kernelModule', name: 'ip_vs' }
const SERVICE: Setting = { kind: 'unitEnabled', unit: 'ipvsDirector' }

/** The parts of a configuration that this driver uses. */
interface Director {
  readonly served: readonly Served[]
  readonly view: ConfigView
  readonly sync: string | undefined
}

/** IPVS through keepalived. While no frontend serves, keepalived is left as it was found. */
export function keepalivedDriver(nodeId: string): Driver {
  const syncIn = (view: ConfigView) => syncStatement(view, nodeIn(view, nodeId))
  const director = (view: ConfigView): Director => ({ served: servedFrontends(view), view, sync: syncIn(view) })
  return {
    name: 'ipvsDirector',
    sections: ['l4Frontends', 'l4Backends', 'realServers', 'healthChecks', 'floatingIps', 'ipGroups'],
    prepare: prepared,
    verify: (desired) => [...verifyConfig(desired), ...syncProblems(desired)],
    plan: (running, desired, options) =>
      plan(running === undefined ? undefined : director(running), director(desired), options),
    effectOf: (change, running, desired) => {
      if (change.section !== 'ipGroups') return effectOf(change, running, desired)
      return syncIn(running) === syncIn(desired) || servedFrontends(desired).length === 0 ? undefined : 'reload'
    },
    render: (desired) => previews(director(desired)),
    diagnose: diagnoseOutput,
  }
}

const isNothing = ({ served }: Director): boolean => served.length === 0
const text = ({ served, sync }: Director): string => renderConfig(served, sync)

function previews(director: Director) {
  if (isNothing(director)) return []
  return [
    { path: CONFIG_FILE, content: text(director) },
    { path: MARKS_FILE, content: renderMarks(director.served) },
    ...checkFiles(director.served, director.view),
    ...bootFiles(director),
  ]
}

/** Prepares every frontend's part of the file; unchanged parts are reused. */
function* prepared(view: ConfigView): Generator {
  for (const served of servedPortions(view)) {
    yield served === undefined ? undefined : prepareService(served)
  }
}

/** Whether keepalived's file changes beyond weights, or other packets are marked. */
function isStructural(running: Director, desired: Director): boolean {
  const [before, after] = [running.served, desired.served]
  if (before.length !== after.length || running.sync !== desired.sync) return true
  return after.some((served, at) => !isSameStructure(before[at], served))
}

function plan(running: Director | undefined, desired: Director, { atLeast }: PlanOptions): readonly Step[] {
  if (isNothing(desired)) return running === undefined || isNothing(running) ? [] : givenBack(running)
  const isRuntime = running !== undefined && atLeast === 'runtime' && !isStructural(running, desired)
  return isRuntime ? runtimePlan(running, desired) : wholePlan(running, desired, atLeast)
}

/** Whether the set of check programs is the same. */
const isSameFiles = (running: Director, desired: Director): boolean =>
  namesOf(checkFiles(running.served, running.view)) === namesOf(checkFiles(desired.served, desired.view))
const namesOf = (files: readonly { readonly path: string }[]): string => files.map(({ path }) => path).join()

/** Changes weights and states: keepalived watches their files. */
function runtimePlan(running: Director, desired: Director): readonly Step[] {
  // Both have the same frontends in the same order, most of them unchanged.
  const others = (all: Director, than: Director) => all.served.filter((served, at) => served !== than.served[at])
  const [before, after] = [others(running, desired), others(desired, running)]
  const changed = weightChange(before, after)
  const kept: readonly Step[] =
    after.length === 0
      ? []
      : [{ ...configStep(text(desired)), why: 'keep keepalived.conf in step with the running keepalived' }]
  const scripts = checkWrites(running, desired)
  const weights: readonly Step[] =
    changed.values.size === 0 ? [] : [valuesStep(changed), { ...readBack(after, changed.values), isRuntime: true }]
  const gone = scripts.length === 0 && isSameFiles(running, desired) ? [] : checkTidying(running, desired)
  return [...scripts, ...weights, ...kept, ...gone]
}

function wholePlan(running: Director | undefined, desired: Director, atLeast: PlanOptions['atLeast']): readonly Step[] {
  const isAdoption = running === undefined && atLeast === 'runtime'
  const verb = atLeast === 'restart' ? 'restart' : 'reload'
  const [config, marks] = [text(desired), renderMarks(desired.served)]
  const marksBefore = running === undefined ? undefined : renderMarks(running.served)
  const loaded = loadedName(config)
  return [
    configCheck(config),
    marksCheck(marks),
    setting(IPVS, 'loaded', 'load IPVS, the load balancer of the kernel'),
    ...bootFiles(desired).map((file): Step => ({ ...replace(file.path, file.content, OPEN_MODE), checked: false })),
    ...[...kernelValues(desired.served)].map(([key, value]) => setting({ kind: 'sysctl', key }, value, `set ${key}`)),
    ...returned(running, desired),
    ...checkWrites(running, desired),
    marksRun(marksBefore),
    { ...replace(MARKS_FILE, marks, OPEN_MODE), why: 'install the firewall marks' },
    ...fallbackProgram(desired.served),
    valuesStep(wholeWeights(running?.served, desired.served)),
    { ...configStep(config), checked: true, keepsFound: true },
    ...goneFallbacks(running?.served, desired.served),
    // The found state of the service is stored before it is started.
    setting(SERVICE, 'enabled', 'make keepalived run, also after a boot'),
    ...(isAdoption ? [] : [forgetLoaded(loaded)]),
    {
      kind: 'unit',
      why: verb === 'restart' ? 'restart keepalived' : 'reload keepalived without dropping a connection',
      timeout_ms: TIMEOUT_MS,
      unit: 'ipvsDirector',
      verb,
      undo: running === undefined || isNothing(running) ? 'asFound' : verb,
      whenUnchanged: isAdoption ? 'skip' : 'act',
    },
    ...goneMarks(marksBefore, marks),
    ...goneServices(running, desired),
    ...goneSync(running, desired),
    ...(isAdoption ? [] : [loadedFile(loaded, desired.served)]),
    readBack(desired.served, undefined),
    ...standIns(running?.served, desired.served),
    ...checkTidying(running, desired),
    ...fallbackGone(running?.served, desired.served),
    // Both kinds of names are kept: a keepalived that was not reloaded watches the other one.
    keepWeights([...weightValues(desired.served).keys(), loaded]),
  ]
}

/** Applies the marks in one kernel transaction. The undo reads the file in place, which is still the previous one. */
function marksRun(before: string | undefined): Step {
  return {
    kind: 'run',
    why: 'mark packets of frontends with several ports or with persistence',
    timeout_ms: TIMEOUT_MS,
    argv: ['nft', '--file', `${MARKS_FILE}.candidate`],
    undo: before === undefined ? 'irreversible' : before === NO_MARKS ? NO_TABLE : ['nft', '--file', MARKS_FILE],
  }
}
function goneMarks(before: string | undefined, after: string): readonly Step[] {
  const gone = before === undefined ? [] : goneMaps(before, after)
  return gone.length === 0 ? [] : [command(['nft', gone.join('; ')], 'remove old firewall marks')]
}

/** keepalived 2.2.7 does not remove the service of a mark that left its group, which then has no real servers. */
function goneServices(running: Director | undefined, desired: Director): readonly Step[] {
  const wanted = new Set(desired.served.flatMap(({ marks }) => marks))
  return (running?.served ?? []).flatMap(({ frontend, marks }) =>
    marks
      .filter((mark) => !wanted.has(mark))
      .map((mark): Step => {
        const family = frontend.ip.includes(':') ? ['-6'] : []
        const argv = ['ipvsadm', '--delete-service', '--fwmark-service', String(mark), ...family]
        return { ...command(argv, `remove the service with mark ${mark}`), mayFail: true }
      }),
  )
}

/** keepalived stops the kernel's synchronisation when it ends, but not when a reload removes the statement. */
function goneSync(running: Director | undefined, desired: Director): readonly Step[] {
  if (running?.sync === undefined || desired.sync !== undefined) return []
  return (['master', 'backup'] as const).map((role): Step => ({
    ...command(['ipvsadm', '--stop-daemon', role], 'stop synchronising connections with other nodes'),
    mayFail: true,
  }))
}

/** Adding the table first makes the deletion succeed if there is none. */
const NO_TABLE = ['nft', `add table inet ${TABLE}; delete table inet ${TABLE}`] as const

const configStep = (config: string) => ({
  ...replace(CONFIG_FILE, config, CONFIG_MODE),
  why: 'install the checked keepalived.conf',
  checked: false,
  namesInterfaces: true as const,
})

/** Files for boot: the kernel's values are set before keepalived starts. */
function bootFiles({ served }: Director) {
  const lines = [...kernelValues(served)].map(([key, value]) => `${key} = ${value}`)
  return [
    { path: MODULES_FILE, content: writtenHere(['ip_vs']) },
    { path: SYSCTL_FILE, content: writtenHere(lines) },
    // The keepalived of floating IPs is another process.
    { path: ARGUMENTS_FILE, content: writtenHere(['DAEMON_ARGS=--check']) },
  ]
}

/** Restores kernel values that are no longer wanted, as they were found. */
function returned(running: Director | undefined, desired: Director | undefined): readonly Step[] {
  const wanted = desired === undefined ? new Map<string, string>() : kernelValues(desired.served)
  return [...(running === undefined ? [] : kernelValues(running.served).keys())]
    .filter((key) => !wanted.has(key))
    .map((key) => setting({ kind: 'sysctl', key }, undefined, `restore ${key} as it was found`))
}

const forgetLoaded = (name: string): Step => ({
  kind: 'removeFile',
  why: 'wait until keepalived has reread its configuration',
  timeout_ms: TIMEOUT_MS,
  path: `${WEIGHTS_FOLDER}/${name}`,
})

function givenBack(running: Director): readonly Step[] {
  const remove = (path: string): Step => ({
    kind: 'removeFile',
    why: `restore ${path} as it was found`,
    timeout_ms: TIMEOUT_MS,
    path,
    givesBack: true,
    foundMode: CONFIG_MODE,
  })
  return [
    {
      kind: 'unit',
      why: 'stop keepalived, which removes its services from the kernel',
      timeout_ms: TIMEOUT_MS,
      unit: 'ipvsDirector',
      verb: 'stop',
      undo: 'start',
      whenUnchanged: 'act',
    },
    remove(CONFIG_FILE),
    command(NO_TABLE, 'stop marking packets'),
    ...[MARKS_FILE, MODULES_FILE, SYSCTL_FILE, ARGUMENTS_FILE].map(remove),
    ...NO_PROGRAMS,
    ...returned(running, undefined),
    ...checkTidying(running, { served: [], view: running.view }),
    { ...setting(SERVICE, undefined, 'leave keepalived as it was found') },
    keepWeights([]),
  ]
}
