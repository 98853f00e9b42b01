import { Command, CommanderError } from 'commander'
import { VERSION } from '../base/version.ts'
import { addApi } from './commands/api.ts'
import { addCare } from './commands/care.ts'
import { addCluster } from './commands/cluster.ts'
import { addCompletion } from './commands/completion.ts'
import { addFile } from './commands/file.ts'
import { addGoingLive } from './commands/going-live.ts'
import { addLogin } from './commands/login.ts'
import { addPeople } from './commands/people.ts'
import { addRecords } from './commands/records.ts'
import { addStatus } from './commands/status.ts'
import { addWatch } from './commands/watch.ts'
import { Run, type Surroundings } from './command.ts'
import { Failure } from './failure.ts'
import { printableLines } from './output.ts'

/** Returns the command line; each group adds its own commands. */
function createProgram(run: Run): Command {
  const { terminal } = run
  const program = new Command('fulcrum')
    .description('Manages load-balancing appliances running Fulcrum.')
    .version(VERSION)
    .option('-c, --context <name>', 'daemon to use, from fulcrum contexts (default: the current one)')
    .option('--json', 'print JSON')
    .exitOverride()
    .showHelpAfterError('(see fulcrum help)')
    .configureOutput({ writeOut: (text) => terminal.out(text), writeErr: (text) => terminal.err(text) })
    .configureHelp({ sortSubcommands: false, helpWidth: terminal.columns ?? 100 })
  for (const add of [
    addLogin,
    addStatus,
    addRecords,
    addGoingLive,
    addFile,
    addWatch,
    addCare,
    addPeople,
    addCluster,
    addApi,
    addCompletion,
  ])
    add(program, run)
  for (const command of program.commands) command.copyInheritedSettings(program)
  return program
}

/** Runs one command line and resolves with the exit code. */
export async function runCommand(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const run = new Run(surroundings)
  try {
    await createProgram(run).parseAsync(args, { from: 'user' })
    return run.exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode
    if (!(error instanceof Failure)) throw error
    surroundings.terminal.err(`fulcrum: ${printableLines(error.message)}\n`)
    return error.exitCode
  } finally {
    run.close()
  }
}
