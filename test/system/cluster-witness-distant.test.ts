import { fileURLToPath } from 'node:url'
import t from 'tap'
import { cableObstacle } from '../labs/distant-cable.ts'
import { namespaceObstacle } from './network-namespace.ts'

/** The nodes and their client are in their own network. */

const CHILD = fileURLToPath(new URL('cluster-witness-distant-child.ts', import.meta.url))
const TIME_MS = 600_000

t.setTimeout(TIME_MS)
const obstacle = cableObstacle ?? (await namespaceObstacle())
if (obstacle === undefined) {
  const argv = ['--net', process.execPath, ...process.execArgv, CHILD]
  await t.spawn('unshare', argv, { timeout: TIME_MS }, 'two nodes and a witness far away')
} else t.pass('two nodes and a witness far away', { skip: obstacle })
