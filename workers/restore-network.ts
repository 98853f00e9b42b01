/** A program of its own, run once at boot: `node workers/restore-network.ts STATE-FOLDER`. */
import { runProgram } from './host/linux-host.ts'
import { networkFile } from './host/network/memory.ts'
import { restoreNetwork } from './host/network/restore.ts'
import { reasonOf } from '../src/base/reason.ts'

const WAIT_MS = 10_000

const [folder] = process.argv.slice(2)
if (folder === undefined || folder === '') {
  process.stderr.write('usage: restore-network.ts STATE-FOLDER\n')
  process.exitCode = 2
} else {
  try {
    process.exitCode = await restoreNetwork({
      file: networkFile(`${folder}/machine`),
      // This program's unit already has the rights that it needs.
      run: (argv, timeout_ms, options) => runProgram(argv, timeout_ms, { ...options, isUnconfined: false }),
      say: (line) => process.stdout.write(`${line}\n`),
      wait_ms: WAIT_MS,
    })
  } catch (error) {
    process.stderr.write(`the network is not restored: ${reasonOf(error)}\n`)
    process.exitCode = 1
  }
}
