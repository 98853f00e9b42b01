import { existsSync } from 'node:fs'
import { createAppliance } from './appliance.ts'
import { FirstPassword } from './auth/first-password.ts'
import { checkState } from './check.ts'
import { assertDescriptors } from './descriptors.ts'
import { createLog, type Log } from './log.ts'
import { createMachine } from './machine.ts'
import { addressText } from './observe/address.ts'
import { repairState } from './repair.ts'
import { createNotifier, type Notifier } from './sd-notify.ts'
import type { Settings } from './settings.ts'
import type { Appliance } from './running-appliance.ts'
import { lockState } from './state-lock.ts'
import { VERSION } from './version.ts'

const say = (text: string) => void process.stdout.write(`${text}\n`)
const complain = (text: string) => void process.stderr.write(`fulcrum: ${text}\n`)

/** Runs the daemon until a signal ends it. */
export async function runDaemon(settings: Settings, end: (code: number) => void): Promise<void> {
  if ((settings.check || settings.repair) && !existsSync(settings.state))
    throw new Error(`there is nothing in ${settings.state}`)
  assertDescriptors()
  lockState(settings.state)
  if (settings.repair) await repair(settings.state)
  if (settings.check || settings.repair) return end(await check(settings.state))
  const daemon: Daemon = {
    settings,
    log: createLog((line) => void process.stderr.write(line)),
    notifier: createNotifier(settings.notify),
    signal: undefined,
  }
  while ((await live(daemon)) === 'reborn') daemon.log.info('starting as the node that was assumed')
  end(0)
}

interface Daemon {
  readonly settings: Settings
  readonly log: Log
  readonly notifier: Notifier
  /** Resolves with the signal that ends the daemon. Until it listens for the first time, a signal ends it at once. */
  signal: Promise<NodeJS.Signals> | undefined
}

/** From a start to a signal, or until the node is another one. */
async function live(daemon: Daemon): Promise<'stopped' | 'reborn'> {
  const { settings, log, notifier } = daemon
  const appliance = await createAppliance(settings, createMachine(settings), log)
  const [api] = await appliance.listen()
  const signal = (daemon.signal ??= endingSignal())
  const password = await tellPassword(settings, appliance)
  if (api !== undefined)
    greet(settings, appliance, password, `https://${api.host.includes(':') ? `[${api.host}]` : api.host}:${api.port}`)
  await appliance.passwordWasShown()
  notifier.ready(`version ${VERSION}`)
  notifier.startWatchdog(() => true)
  const running = appliance.run()
  const failed = running.then(({ demoUrl }) => {
    if (demoUrl !== undefined) say(`  Demo           ${demoUrl} (remove it: DELETE /api/v1/demo)`)
    return new Promise<never>(() => undefined)
  })
  const why = await Promise.race([signal, appliance.reborn.then(() => 'reborn' as const), failed])
  if (why !== 'reborn') notifier.stopping()
  log.info('stopping', { why })
  // A start that was taken back half-way would have to be repaired by the next one.
  await running.catch(() => undefined)
  await appliance.close({ keepsPrograms: why === 'reborn' })
  return why === 'reborn' ? 'reborn' : 'stopped'
}

function endingSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, resolve)
  })
}

/** How the first administrator gets the password: an appliance's output goes to the journal, where no secret belongs. */
async function tellPassword({ profile, state }: Settings, { firstAdministrator }: Appliance): Promise<string> {
  const password = firstAdministrator?.oneTimePassword
  if (password === undefined) return 'the one in FULCRUM_ADMIN_PASSWORD'
  if (profile === 'trial') return `${password}   (shown this once)`
  const file = new FirstPassword(state)
  await file.keep(password)
  return `in ${file.path} until the first login`
}

function greet(settings: Settings, appliance: Appliance, password: string, url: string): void {
  say(`Fulcrum ${VERSION}, ${settings.profile} profile, state in ${settings.state}`)
  say(`  API            ${url}/api/v1`)
  say(`  Documentation  ${url}/api/v1/docs`)
  say(`  Node           ${appliance.nodeId}`)
  if (settings.observe !== undefined) say(`  Observes       ${addressText(settings.observe)}`)
  const first = appliance.firstAdministrator
  if (first === undefined) return
  say(`  Administrator  ${first.email}`)
  say(`  Password       ${password}`)
}

/** What is damaged after it is told by the check that follows. */
async function repair(state: string): Promise<void> {
  for (const done of await repairState(state)) say(done)
}

async function check(state: string): Promise<number> {
  const problems = await checkState(state)
  for (const problem of problems) complain(problem)
  if (problems.length === 0) say('the stores are whole')
  return problems.length === 0 ? 0 : 1
}
