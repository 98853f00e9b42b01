import { LOCAL_SOCKETS } from './contexts.ts'
import { runCommand } from './program.ts'
import { processTerminal } from './terminal.ts'

// Files with tokens and plans are for this user only.
process.umask(0o077)

let isLost = false
const ends = {
  leave: () => process.exit(130),
  // May be called after the command has ended.
  lose() {
    isLost = true
    process.exitCode = 1
  },
}
const code = await runCommand(process.argv.slice(2), {
  env: process.env,
  sockets: LOCAL_SOCKETS,
  terminal: processTerminal(process, process.env, ends),
})
process.exitCode = isLost ? 1 : code
