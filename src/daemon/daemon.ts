import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAppliance } from '../appliance/appliance.ts'
import { FirstPassword } from '../auth/first-password.ts'
import { checkState } from './check.ts'
import { assertDescriptors } from '../base/descriptors.ts'
import { createLog, type Log } from '../base/log.ts'
import { createMachine } from '../machine/machine.ts'
import { ClusterFiles } from '../membership/cluster-files.ts'
import { addressText } from '../base/socket-address.ts'
import { reasonOf } from '../base/reason.ts'
import { repairState } from './repair.ts'
import { createNotifier, type Notifier } from './sd-notify.ts'
import type { Settings } from '../settings.ts'
import { type Starter, starterOf } from './starter.ts'
import { endingSignal } from './ending.ts'
import type { Appliance } from '../appliance/running-appliance.ts'
import type { StartArchives } from '../stats/start-archives.ts'
import { lockState } from './state-lock.ts'
import { VERSION } from '../base/version.ts'

const say = (text: string) => void process.stdout.write(`${text}\n`)
const complain = (text: string) => void process.stderr.write(`fulcrum: ${text}\n`)

/** Runs the daemon until a signal ends it. */
export async function runDaemon(
  settings: Settings,
  startArchives: StartArchives,
  end: (code: number) => void,
): Promise<void> {
  const starter = settings.beside === undefined ? undefined : starterOf()
  // Installed before anything is taken over: a daemon that is ended during its start then ends what the start took
  // over.
  const signal = endingSignal(starter)
  takeState(settings.state)
  const daemon: Daemon = {
    settings,
    startArchives,
    log: createLog((line) => void process.stderr.write(line)),
    notifier: createNotifier(settings.notify),
    signal,
    starter,
    before: undefined,
  }
  let how: Lived
  while ((how = await live(daemon)) === 'reborn')
    daemon.log.info('restarting, because the identity of the node has changed')
  end(how === 'failed' ? 1 : 0)
}

/** `failed`: another process must take over. */
type Lived = 'stopped' | 'reborn' | 'failed'

/** Locks the state folder. @throws {Error} when another daemon uses it, or it is not that of a node. */
function takeState(state: string): void {
  assertDescriptors()
  lockState(state)
  refuseWitnessState(state)
}

/** Refuses a witness's state folder: its files would look like the rest of a join that crashed. */
function refuseWitnessState(state: string): void {
  if (!existsSync(new ClusterFiles(state).witnessFile)) return
  throw new Error(`${state} belongs to a witness; start it with --profile witness, or remove the witness first`)
}

/** A failed store may never close; this limit is shorter than the service manager's wait before it kills. */
const FAILED_CLOSE_MS = 10_000
/** Number of addresses listed in the last lines; the others are counted. */
const ADDRESSES_TOLD_MAX = 8

interface Daemon {
  readonly settings: Settings
  readonly startArchives: StartArchives
  readonly log: Log
  readonly notifier: Notifier
  /** Resolves with the reason why the daemon ends. */
  readonly signal: Promise<string>
  readonly starter: Starter | undefined
  /** The appliance before, which has ended; its listeners hold connections until the next one takes them over. */
  before: Appliance | undefined
}

/** A separate function, so that nothing of the appliance before stays in memory for the life of the next one. */
function listening(daemon: Daemon, appliance: Appliance): ReturnType<Appliance['listen']> {
  const { before } = daemon
  daemon.before = undefined
  return appliance.listen(before)
}

/** Runs an appliance until a signal, a change of the node's identity, or the failure of a store. */
async function live(daemon: Daemon): Promise<Lived> {
  const { settings, startArchives, log, notifier, starter } = daemon
  const appliance = await createAppliance(settings, { ...createMachine(settings), startArchives }, log)
  const [api] = await listening(daemon, appliance)
  if (starter !== undefined) starter.tell({ state: 'listens', ...firstLogin(appliance) })
  else if (api !== undefined) {
    const password = await tellPassword(settings, appliance)
    greet(settings, appliance, password, `https://${api.host.includes(':') ? `[${api.host}]` : api.host}:${api.port}`)
  }
  await appliance.passwordWasShown()
  notifier.ready(`version ${VERSION}`)
  notifier.startWatchdog(() => true)
  const running = appliance.run()
  const notRun = running.then(({ demoUrl }) => {
    if (starter !== undefined) starter.tell({ state: 'runs', demoUrl })
    else if (demoUrl !== undefined) say(`  Demo           ${demoUrl} (remove it: DELETE /api/v1/demo)`)
    return new Promise<never>(() => undefined)
  })
  const reborn = appliance.reborn.then(() => 'reborn' as const)
  const failed = appliance.failed.then((reason) => ({ reason }))
  const why = await Promise.race([daemon.signal, reborn, failed, notRun])
  if (why !== 'reborn') notifier.stopping()
  if (typeof why === 'object') return failedWith(why.reason, daemon, appliance)
  log.info('stopping', { why })
  // A start that was aborted half-way would have to be repaired by the next one.
  await running.catch(() => undefined)
  const served = appliance.serves()
  const isReborn = why === 'reborn'
  const left = await appliance.close({ keepsPrograms: isReborn || settings.keep, rests: isReborn })
  if (isReborn) {
    daemon.before = appliance
    return 'reborn'
  }
  if (left !== undefined) complain(`HAProxy could not be stopped: ${left}`)
  else if (settings.profile === 'trial' && settings.observe === undefined) takeLeave(settings, served)
  return 'stopped'
}

/**
 * Ends after a failure; the service manager starts the daemon again. Whatever can still be stored is stored, without
 * waiting for work that would wait for the failed store forever.
 */
async function failedWith(reason: string, { log }: Daemon, appliance: Appliance): Promise<'failed'> {
  log.error('stopping; a restart is required', { why: reason })
  const closed = appliance.close({ keepsPrograms: true }).catch((error: unknown) => {
    log.warn('not everything was closed', { reason: reasonOf(error) })
  })
  await Promise.race([closed, sleep(FAILED_CLOSE_MS)])
  return 'failed'
}

/** Prints the last lines of a trial: whether its HAProxy ended or continues. */
function takeLeave({ keep, state }: Settings, served: readonly string[]): void {
  const more = served.length - ADDRESSES_TOLD_MAX
  const told = [...served.slice(0, ADDRESSES_TOLD_MAX), ...(more > 0 ? [`${more} more`] : [])].join(', ')
  if (!keep) return say(`  Stopped        HAProxy${told === '' ? '' : `, which served ${told}`}`)
  say(`  Still running  HAProxy${told === '' ? '' : `, serving ${told}`}`)
  say(`  To stop it     start with --state ${state} and without --keep, then Ctrl-C`)
}

/** Delivers the first administrator's password: an appliance's output goes to the journal, where no secret belongs. */
async function tellPassword({ profile, state }: Settings, { firstAdministrator }: Appliance): Promise<string> {
  const password = firstAdministrator?.oneTimePassword
  if (password === undefined) return 'the one in FULCRUM_ADMIN_PASSWORD'
  if (profile === 'trial') return `${password}   (shown only once)`
  const file = new FirstPassword(state)
  await file.keep(password)
  return `in ${file.path} until the first login`
}

/** Returns the first login for the starter, which shows it. */
function firstLogin({ firstAdministrator: first }: Appliance) {
  return first === undefined ? {} : { email: first.email, password: first.oneTimePassword }
}

function greet(settings: Settings, appliance: Appliance, password: string, url: string): void {
  say(`Fulcrum ${VERSION}, ${settings.profile} profile, state in ${settings.state}`)
  say(`  API            ${url}/api/v1`)
  say(`  Admin page     ${url}/`)
  say(`  Documentation  ${url}/api/v1/docs`)
  say(`  Node           ${appliance.nodeId}`)
  if (settings.observe !== undefined) say(`  Observes       ${addressText(settings.observe)}`)
  const first = appliance.firstAdministrator
  if (first === undefined) return
  say(`  Administrator  ${first.email}`)
  say(`  Password       ${password}`)
}

/** Checks the stores, after repairing them if that was requested. Returns the exit code. */
export async function lookInto({ state, repair }: Settings): Promise<number> {
  if (!existsSync(state)) throw new Error(`there is nothing in ${state}`)
  takeState(state)
  // Damage that remains after the repair is reported by the check.
  if (repair) for (const done of await repairState(state)) say(done)
  const problems = await checkState(state)
  for (const problem of problems) complain(problem)
  if (problems.length === 0) say('the stores are intact')
  return problems.length === 0 ? 0 : 1
}
