import { readFileSync } from 'node:fs'
import type { DesiredNetwork } from '../../src/drivers/host.ts'
import { runProgram } from '../../workers/host/linux-host.ts'
import type { Run } from '../../workers/host/managed-program.ts'
import { KernelNetwork } from '../../workers/host/network/kernel-network.ts'

/** Creates a network and dies at a given moment: `network-child.ts NAMESPACE FILE DESIRED MOMENT`. */
const [name = '', file = '', desiredFile = '', moment = ''] = process.argv.slice(2)
const desired: DesiredNetwork = JSON.parse(readFileSync(desiredFile, 'utf8'))
const die = () => process.kill(process.pid, 'SIGKILL')
const [batch, place] = [Number(moment.split(' ')[0]), moment.split(' ')[1]]
let batches = 0

/** Batches change the kernel: dies before, during or after one of them. */
const run: Run = async (argv, timeout_ms, options = {}) => {
  const inside = ['nsenter', `--net=/run/netns/${name}`, ...argv]
  const isTheOne = argv.includes('-batch') && batches++ === batch
  if (!isTheOne) return runProgram(inside, timeout_ms, options)
  if (place === 'before') die()
  const lines = (options.input ?? '').trimEnd().split('\n')
  const half = place === 'within' ? lines.slice(0, Math.floor(lines.length / 2)) : lines
  await runProgram(inside, timeout_ms, { ...options, input: `${half.join('\n')}\n` })
  die()
  return new Promise(() => undefined)
}

const network = new KernelNetwork(file, run)
for (const phase of ['add', 'settle'] as const) {
  const { exitCode, output } = await network.make(desired, phase, 120_000)
  if (exitCode !== 0) throw new Error(output)
}
// The announcements of the addresses would keep it alive for a second.
process.exit()
