import { existsSync } from 'node:fs'
import { createAppliance } from './appliance.ts'
import { FirstPassword } from './auth/first-password.ts'
import { checkState } from './check.ts'
import { createLog } from './log.ts'
import { createMachine } from './machine.ts'
import { addressText } from './observe/address.ts'
import { createNotifier } from './sd-notify.ts'
import type { Settings } from './settings.ts'
import type { Appliance } from './running-appliance.ts'
import { lockState } from './state-lock.ts'
import { VERSION } from './version.ts'

const say = (text: string) => void process.stdout.write(`${text}\n`)
const complain = (text: string) => void process.stderr.write(`fulcrum: ${text}\n`)

/** Runs the daemon until a signal ends it. */
export async function runDaemon(settings: Settings, end: (code: number) => void): Promise<void> {
  if (settings.check && !existsSync(settings.state)) throw new Error(`there is nothing in ${settings.state}`)
  await lockState(settings.state)
  if (settings.check) return end(await check(settings.state))
  const log = createLog((line) => void process.stderr.write(line))
  const notifier = createNotifier(settings.notify)
  const appliance = await createAppliance(settings, createMachine(settings), log)
  let started: Promise<unknown> = Promise.resolve()
  const stop = async (signal: string) => {
    notifier.stopping()
    log.info('stopping', { signal })
    // A start that was taken back half-way would have to be repaired by the next one.
    await started.catch(() => undefined)
    await appliance.close()
    end(0)
  }
  const listeners = await appliance.listen()
  process.once('SIGTERM', () => void stop('SIGTERM'))
  process.once('SIGINT', () => void stop('SIGINT'))
  const password = await tellPassword(settings, appliance)
  const [api] = listeners
  if (api !== undefined)
    greet(settings, appliance, password, `https://${api.host.includes(':') ? `[${api.host}]` : api.host}:${api.port}`)
  await appliance.passwordWasShown()
  notifier.ready(`version ${VERSION}`)
  notifier.startWatchdog(() => true)
  const running = appliance.run()
  started = running
  const { demoUrl } = await running
  if (demoUrl !== undefined) say(`  Demo           ${demoUrl} (remove it: DELETE /api/v1/demo)`)
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

async function check(state: string): Promise<number> {
  const problems = await checkState(state)
  for (const problem of problems) complain(problem)
  if (problems.length === 0) say('the stores are whole')
  return problems.length === 0 ? 0 : 1
}
