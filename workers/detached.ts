/**
 * Work that outlives the daemon: `node workers/detached.ts FOLDER BOOT_ID` does what plan.json of the folder says and
 * tells of it in status.json and log. Everything it needs is loaded at its start, because its own files may be replaced
 * while it runs.
 */
import { closeSync, openSync } from 'node:fs'
import { PlanRun } from './detached/run-plan.ts'

const [folder = '', bootId = '', mode] = process.argv.slice(2)

// Its starter must not wait for it.
if (mode === '--background') {
  for (const descriptor of [0, 1, 2]) {
    closeSync(descriptor)
    openSync('/dev/null', 'r+')
  }
}

let isStopping = false
// The machine goes down: the program that runs may end, the rest is done after the next start of the daemon.
process.on('SIGTERM', () => (isStopping = true))

await new PlanRun(folder, bootId, () => isStopping).run()
