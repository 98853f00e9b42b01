import { createAppliance, type Appliance } from './appliance.ts'
import { createLog } from './log.ts'
import { createMachine } from './machine.ts'
import { createNotifier } from './sd-notify.ts'
import type { Settings } from './settings.ts'
import { lockState } from './state-lock.ts'
import { VERSION } from './version.ts'

const say = (text: string) => void process.stdout.write(`${text}\n`)
const complain = (text: string) => void process.stderr.write(`fulcrum: ${text}\n`)

/** Runs the daemon until a signal ends it. */
export async function runDaemon(settings: Settings, end: (code: number) => void): Promise<void> {
  await lockState(settings.state)
  const log = createLog((line) => void process.stderr.write(line))
  const notifier = createNotifier(settings.notify)
  const appliance = await createAppliance(settings, createMachine(settings), log)
  if (settings.check) return end(await check(appliance))
  const stop = async (signal: string) => {
    notifier.stopping()
    log.info('stopping', { signal })
    await appliance.close()
    end(0)
  }
  const listeners = await appliance.listen()
  process.once('SIGTERM', () => void stop('SIGTERM'))
  process.once('SIGINT', () => void stop('SIGINT'))
  const [api] = listeners
  if (api !== undefined)
    greet(settings, appliance, `https://${api.host.includes(':') ? `[${api.host}]` : api.host}:${api.port}`)
  notifier.ready(`version ${VERSION}`)
  notifier.startWatchdog(() => true)
  const { demoUrl } = await appliance.run()
  if (demoUrl !== undefined) say(`  Demo           ${demoUrl} (remove it: DELETE /api/v1/demo)`)
}

function greet(settings: Settings, appliance: Appliance, url: string): void {
  say(`Fulcrum ${VERSION}, ${settings.profile} profile, state in ${settings.state}`)
  say(`  API            ${url}/api/v1`)
  say(`  Documentation  ${url}/api/v1/docs`)
  say(`  Node           ${appliance.nodeId}`)
  const first = appliance.firstAdministrator
  if (first === undefined) return
  say(`  Administrator  ${first.email}`)
  say(
    first.oneTimePassword === undefined
      ? '  Password       the one in FULCRUM_ADMIN_PASSWORD'
      : `  Password       ${first.oneTimePassword}   (shown this once)`,
  )
}

async function check(appliance: Appliance): Promise<number> {
  const problems = await appliance.check()
  for (const problem of problems) complain(problem)
  await appliance.close()
  if (problems.length === 0) say('the stores are whole')
  return problems.length === 0 ? 0 : 1
}
