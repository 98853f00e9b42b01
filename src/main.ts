import { mkdirSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { readSettings, SettingsError, USAGE } from './settings.ts'

// Nothing this daemon writes is for other accounts.
process.umask(0o077)

/** Compiled code is kept in the state folder: the next start, and every thread, saves about half of its time. */
function keepCompiledCode(state: string): void {
  const folder = join(state, 'compile-cache')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  enableCompileCache(folder)
  // Threads read the variable when they start.
  process.env['NODE_COMPILE_CACHE'] = folder
}

async function main(): Promise<void> {
  const settings = readSettings(process.argv.slice(2), process.env)
  if (settings === 'help') {
    process.stdout.write(`${USAGE}\n`)
    return
  }
  keepCompiledCode(settings.state)
  const { runDaemon } = await import('./daemon.ts')
  await runDaemon(settings, (code) => process.exit(code))
}

try {
  await main()
} catch (error) {
  process.stderr.write(`fulcrum: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(error instanceof SettingsError ? 2 : 1)
}
