/**
 * Work that outlives the daemon: `node workers/detached.ts FOLDER BOOT_ID` carries out plan.json of the folder and
 * reports in status.json and log. It loads everything it needs at its start, because its own files may be replaced
 * while it runs.
 */
import { closeSync, openSync } from 'node:fs'
import { PlanRun } from './detached/run-plan.ts'

const [folder = '', bootId = '', mode] = process.argv.slice(2)

// The program that started this one must not wait for it.
if (mode === '--background') {
  for (const descriptor of [0, 1, 2]) {
    closeSync(descriptor)
    openSync('/dev/null', 'r+')
  }
}

let isStopping = false
// On shutdown the running program may finish; the rest is done after the next start of the daemon.
process.on('SIGTERM', () => (isStopping = true))

await new PlanRun(folder, bootId, () => isStopping).run()
