import { canonicalIp } from '../../base/ip-network.ts'
import type { ConfigView, RecordChange, SectionRecords } from '../../model/sections.ts'
import type { ChangeEffect, Driver, FileContent, PlanOptions, PortClaim, Step, UnitStep } from '../driver.ts'
import {
  certificateFiles,
  certificatePreviews,
  contentChanges,
  fitsRuntime,
  keepOnlyUsed,
  replacementSteps,
} from './certificates.ts'
import { checkFolder, checkSteps, haproxyCheckFiles, programBackends } from './checks.ts'
import { backendDifference, type Difference, differenceOf, serverEffect, same } from './changes.ts'
import { diagnoseOutput } from './diagnose.ts'
import { challengeSyntax, frontendSyntax } from './frontend.ts'
import { mapFiles, mapSteps, mapTidying } from './maps.ts'
import type { HaproxyPaths } from './paths.ts'
import { newPorts } from './port-clashes.ts'
import { renderConfig } from './render.ts'
import { servedFrontends } from './resting.ts'
import { RUNTIME_COMMANDS_MAX, runtimeStep } from './runtime.ts'
import { memberOf, portionsOf, serverOf } from './server.ts'
import { certificateProblems } from './verify-certificates.ts'
import { verifyConfig } from './verify.ts'

const FILE_MODE = 0o600
const CHECK_TIMEOUT_MS = 60_000
const FILE_TIMEOUT_MS = 10_000
const UNIT_TIMEOUT_MS = 60_000

/** The part of `HaproxyPaths` that may change from one call to the next. */
export type HaproxySurroundings = Pick<HaproxyPaths, 'sharing' | 'nameServers'>

export function haproxyDriver(own: HaproxyPaths, surroundings: () => HaproxySurroundings = () => ({})): Driver {
  const here = (): HaproxyPaths => ({ ...own, ...surroundings() })
  return {
    name: 'layer7proxy',
    sections: [
      'l7Frontends',
      'l7Backends',
      'l7Raw',
      'realServers',
      'healthChecks',
      'floatingIps',
      'certificates',
      'cipherLists',
      'acmeAccounts',
      'acmeOrders',
    ],
    makesAnew: true,
    prepare: prepared,
    verify: (desired) => verifyConfig(desired, own),
    plan: (running, desired, options) => planFor(running, desired, options, here()),
    effectOf,
    render: (desired) => [
      { path: own.configFile, content: renderConfig(desired, here()) },
      ...certificatePreviews(desired, own),
      ...mapFiles(desired, own),
      ...haproxyCheckFiles(desired, own).map(({ name, content }) => ({ path: `${checkFolder(own)}/${name}`, content })),
    ],
    diagnose: (output, desired) => diagnoseOutput(output, desired, here()),
  }
}

function* prepared(view: ConfigView): Generator {
  for (const certificate of view.list('certificates')) yield certificateProblems(certificate)
  for (const backend of view.list('l7Backends')) yield* portionsOf(backend, view)
}

function planFor(
  running: ConfigView | undefined,
  desired: ConfigView,
  { atLeast }: PlanOptions,
  paths: HaproxyPaths,
): readonly Step[] {
  const text = renderConfig(desired, paths)
  const ports = running === undefined ? [] : claimedPorts(running, desired)
  const whole = (verb: PlanOptions['atLeast']): readonly Step[] =>
    wholePlan(
      {
        text,
        running,
        desired,
        ports,
        isAdoption: running === undefined && verb === 'runtime',
        verb: verb === 'restart' ? 'restart' : 'reload',
      },
      paths,
    )
  if (running === undefined || atLeast !== 'runtime') return whole(atLeast)
  const difference = differenceOf(running, desired)
  const replaced = contentChanges(running, desired)
  if (difference === 'reload' || !fitsRuntime(replaced)) return whole('reload')
  // A changed check program takes effect at its next run.
  const checks = checkSteps(running, desired, paths)
  const maps = mapSteps(running, desired, paths)
  const files = [...checks.writing, ...maps, ...replacementSteps(replaced, paths)]
  const keepFile: Step = {
    ...replaceStep(text, paths),
    why: 'keep haproxy.cfg in step with the running HAProxy',
    checked: false,
  }
  const commands = runtimeStep(difference, paths.masterSocket)
  const spoken = [commands, ...maps].flatMap((step) => (step.kind === 'socket' ? step.commands : []))
  if (spoken.length > RUNTIME_COMMANDS_MAX) return whole('reload')
  if (difference.length === 0) {
    return [...files, ...(text === renderConfig(running, paths) ? [] : [keepFile]), ...checks.tidying]
  }
  return [commands, ...files, keepFile, ...checks.tidying]
}

/** An address that this apply adds cannot be tried before it exists, and no other program can listen on it. */
function claimedPorts(running: ConfigView, desired: ConfigView): readonly PortClaim[] {
  const had = new Set(ownAddresses(running))
  const added = new Set(ownAddresses(desired).filter((ip) => !had.has(ip)))
  const ports = newPorts(servedFrontends(running), servedFrontends(desired)).filter(
    ({ ip }) => !added.has(canonicalIp(ip)),
  )
  return isServing(running) ? ports : ports.map((claim) => ({ ...claim, isInherited: true }))
}

/** Whether anything of Layer 7 was applied. Until then HAProxy runs the configuration that was found. */
const isServing = (running: ConfigView): boolean =>
  (['l7Frontends', 'l7Backends', 'l7Raw'] as const).some((section) => running.list(section).length > 0)

const ownAddresses = (view: ConfigView): readonly string[] =>
  [...view.list('staticIps'), ...[...view.list('floatingIps')].filter(({ enabled }) => enabled)].map(({ ip }) => ip)

interface Whole {
  readonly text: string
  readonly running: ConfigView | undefined
  readonly desired: ConfigView
  readonly ports: readonly PortClaim[]
  /** At a start of the daemon: if HAProxy already runs exactly this file, it keeps its counters and connections. */
  readonly isAdoption: boolean
  readonly verb: 'reload' | 'restart'
}

function wholePlan({ text, running, desired, ports, isAdoption, verb }: Whole, paths: HaproxyPaths): readonly Step[] {
  const unit: UnitStep = {
    kind: 'unit',
    why: verb === 'restart' ? 'restart HAProxy' : 'reload HAProxy without dropping a connection',
    timeout_ms: UNIT_TIMEOUT_MS,
    unit: 'layer7proxy',
    verb,
    undo: verb,
    whenUnchanged: isAdoption ? 'skip' : 'act',
    ...(isAdoption ? { unread: `${paths.configFile}.unread` } : {}),
    endsCounting: true,
  }
  const beside = [...certificateFiles(desired, paths), ...mapFiles(desired, paths)]
  const check = checkStep(text, beside, ports, paths)
  const { trying, writing, tidying } = checkSteps(running, desired, paths)
  const tidy = [keepOnlyUsed(desired, paths), ...mapTidying(running, desired, paths), ...tidying]
  return [...trying, check, ...writing, replaceStep(text, paths), unit, ...tidy]
}

function checkStep(
  content: string,
  beside: readonly FileContent[],
  ports: readonly PortClaim[],
  paths: HaproxyPaths,
): Step {
  const { program, configFile: path } = paths
  return {
    kind: 'check',
    why: 'let HAProxy check the new configuration',
    timeout_ms: CHECK_TIMEOUT_MS,
    path,
    content,
    mode: FILE_MODE,
    argv: [program, '-c', '-f', `${path}.candidate`],
    ports,
    beside,
  }
}

function replaceStep(content: string, paths: HaproxyPaths) {
  return {
    kind: 'replaceFile',
    why: 'install the checked haproxy.cfg',
    timeout_ms: FILE_TIMEOUT_MS,
    path: paths.configFile,
    content,
    mode: FILE_MODE,
    checked: true,
    foundCopy: paths.foundCopy,
  } as const
}

function effectOf(change: RecordChange, running: ConfigView, desired: ConfigView): ChangeEffect | undefined {
  if (change.section === 'realServers') return realServerEffect(change.id, running, desired)
  if (change.section === 'l7Frontends') return frontendEffect(change.before, change.after, running, desired)
  if (change.section === 'floatingIps') return floatingEffect(running, desired)
  if (change.section === 'certificates') return certificateEffect(change.id, running, desired)
  if (change.section === 'acmeAccounts' || change.section === 'acmeOrders') return challengesEffect(running, desired)
  if (change.section === 'cipherLists') return cipherListEffect(change.id, running, desired)
  if (change.section === 'healthChecks') return healthCheckEffect(change.id, desired)
  if (change.section === 'l7Raw') return 'reload'
  if (change.section === 'l7Backends') return backendEffect(change.before, change.after, running, desired)
  return undefined
}

/** Returns the most expensive effect among the backends with this real server; undefined when there is none. */
function realServerEffect(id: string, running: ConfigView, desired: ConfigView): ChangeEffect | undefined {
  let effect: ChangeEffect | undefined
  for (const backend of desired.list('l7Backends')) {
    if (!backend.enabled || memberOf(backend, id) === undefined) continue
    const old = running.get('l7Backends', backend.id)
    const before = old?.enabled === true ? serverOf(old, id, running) : undefined
    const after = serverOf(backend, id, desired)
    const unchanged = before !== undefined && after !== undefined && same(before, after)
    if (!unchanged && serverEffect(backend, before, after, desired) === 'reload') return 'reload'
    effect = 'runtime'
  }
  return effect
}

function frontendEffect(
  before: SectionRecords['l7Frontends'] | undefined,
  after: SectionRecords['l7Frontends'] | undefined,
  running: ConfigView,
  desired: ConfigView,
): ChangeEffect {
  return syntaxOf(before, running) === syntaxOf(after, desired) ? 'runtime' : 'reload'
}

/** The effect of all orders together: requested for each of hundreds of pending ones, in unchanged views. */
const challengesEffects = new WeakMap<ConfigView, { running: ConfigView; effect: ChangeEffect | undefined }>()

function challengesEffect(running: ConfigView, desired: ConfigView): ChangeEffect | undefined {
  const known = challengesEffects.get(desired)
  if (known?.running === running) return known.effect
  const effect = effectOfChallenges(running, desired)
  challengesEffects.set(desired, { running, effect })
  return effect
}

/** The frontends must answer for the ordered names. */
function effectOfChallenges(running: ConfigView, desired: ConfigView): ChangeEffect | undefined {
  const frontends = [...desired.list('l7Frontends')].filter(({ id }) => running.get('l7Frontends', id) !== undefined)
  const answers = (view: ConfigView) => frontends.map((frontend) => challengeSyntax(frontend, view)).join('')
  return answers(running) === answers(desired) ? undefined : 'reload'
}

/** Whether frontends start or stop resting with their floating IP. */
function floatingEffect(running: ConfigView, desired: ConfigView): ChangeEffect | undefined {
  const served = (view: ConfigView) => new Map(servedFrontends(view).map(({ id, enabled }) => [id, enabled]))
  const [before, after] = [served(running), served(desired)]
  return [...after].some(([id, enabled]) => enabled !== (before.get(id) ?? enabled)) ? 'reload' : undefined
}

function syntaxOf(frontend: SectionRecords['l7Frontends'] | undefined, view: ConfigView): string {
  return frontend === undefined ? '' : frontendSyntax(frontend, view)
}

/**
 * A certificate that frontends present before and after is replaced; one that is added or removed changes its frontend.
 */
function certificateEffect(id: string, running: ConfigView, desired: ConfigView): ChangeEffect | undefined {
  const changes = contentChanges(running, desired)
  if (!changes.some(({ after }) => after.id === id)) return undefined
  return fitsRuntime(changes) ? 'runtime' : 'reload'
}

function cipherListEffect(id: string, running: ConfigView, desired: ConfigView): ChangeEffect | undefined {
  for (const frontend of desired.list('l7Frontends')) {
    if (frontend.cipherListId !== id) continue
    const before = running.get('l7Frontends', frontend.id)
    if (before?.cipherListId === id && syntaxOf(before, running) !== syntaxOf(before, desired)) return 'reload'
  }
  return undefined
}

/** Only the check's file changes; using it differently is a change of the backend. */
function healthCheckEffect(id: string, desired: ConfigView): ChangeEffect | undefined {
  return programBackends(desired).some(({ healthCheck }) => healthCheck.id === id) ? 'runtime' : undefined
}

function backendEffect(
  before: SectionRecords['l7Backends'] | undefined,
  after: SectionRecords['l7Backends'] | undefined,
  running: ConfigView,
  desired: ConfigView,
): ChangeEffect {
  if (before?.enabled !== true && after?.enabled !== true) return 'runtime'
  if (before === undefined || after === undefined) return 'reload'
  const difference: Difference = backendDifference(before, running, after, desired)
  return difference === 'reload' ? 'reload' : 'runtime'
}
