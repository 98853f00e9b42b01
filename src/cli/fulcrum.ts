import { LOCAL_SOCKETS } from './contexts.ts'
import { runCommand } from './program.ts'
import { processTerminal } from './terminal.ts'

// Tokens and plans are for nobody else.
process.umask(0o077)
// Whoever reads the output may have read enough.
process.stdout.on('error', () => process.exit(0))

process.exitCode = await runCommand(process.argv.slice(2), {
  env: process.env,
  sockets: LOCAL_SOCKETS,
  terminal: processTerminal(process, process.env, () => process.exit(130)),
})
