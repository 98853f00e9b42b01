import { readSettings, SettingsError, USAGE } from './settings.ts'
import { startArchivesEarly } from './stats/start-archives.ts'

// Other accounts may read nothing that this daemon writes.
process.umask(0o077)

async function main(): Promise<void> {
  const settings = readSettings(process.argv.slice(2), process.env)
  if (settings === 'help') {
    process.stdout.write(`${USAGE}\n`)
    return
  }
  if (settings.profile === 'witness') {
    const { runWitness } = await import('./daemon/run-witness.ts')
    return runWitness(settings, (code) => process.exit(code))
  }
  if (settings.nodes !== undefined) {
    const { runNodes } = await import('./daemon/nodes/run-nodes.ts')
    return runNodes(settings, settings.nodes, process.env, (code) => process.exit(code))
  }
  if (settings.check || settings.repair) {
    const { lookInto } = await import('./daemon/daemon.ts')
    return process.exit(await lookInto(settings))
  }
  // The archive thread loads its modules on another core while this thread loads those of the daemon, which are more.
  const startArchives = startArchivesEarly()
  const { runDaemon } = await import('./daemon/daemon.ts')
  await runDaemon(settings, startArchives, (code) => process.exit(code))
}

try {
  await main()
} catch (error) {
  process.stderr.write(`fulcrum: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(error instanceof SettingsError ? 2 : 1)
}
