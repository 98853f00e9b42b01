import { createAppliance, type Appliance } from './appliance.ts'
import { createLog } from './log.ts'
import { createMachine } from './machine.ts'
import { createNotifier } from './sd-notify.ts'
import { readSettings, type Settings, SettingsError, USAGE } from './settings.ts'
import { lockState } from './state-lock.ts'
import { VERSION } from './version.ts'

// Nothing this daemon writes is for other accounts.
process.umask(0o077)

const say = (text: string) => void process.stdout.write(`${text}\n`)
const complain = (text: string) => void process.stderr.write(`fulcrum: ${text}\n`)

function settingsOrEnd(): Settings {
  try {
    const settings = readSettings(process.argv.slice(2), process.env)
    if (settings !== 'help') return settings
    say(USAGE)
    return process.exit(0)
  } catch (error) {
    complain(error instanceof SettingsError ? error.message : String(error))
    return process.exit(2)
  }
}

async function main(settings: Settings): Promise<void> {
  await lockState(settings.state)
  const log = createLog((line) => void process.stderr.write(line))
  const notifier = createNotifier(settings.notify)
  const appliance = await createAppliance(settings, createMachine(settings), log)
  if (settings.check) return check(appliance)
  const stop = async (signal: string) => {
    notifier.stopping()
    log.info('stopping', { signal })
    await appliance.close()
    process.exit(0)
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

async function check(appliance: Appliance): Promise<void> {
  const problems = await appliance.check()
  for (const problem of problems) complain(problem)
  await appliance.close()
  if (problems.length === 0) say('the stores are whole')
  process.exit(problems.length === 0 ? 0 : 1)
}

main(settingsOrEnd()).catch((error: unknown) => {
  complain(error instanceof Error ? error.message : String(error))
  process.exit(error instanceof SettingsError ? 2 : 1)
})
