/** Opens an environment, pins its present state with a read transaction, reports that, and waits to be killed. */
import { writeSync } from 'node:fs'
import { openBinaryDatabase, openBinaryEnvironment } from '../../storage/env.ts'

const [, , directory, name, map_bytes] = process.argv
if (directory === undefined || name === undefined)
  throw new Error('usage: pinning-child.ts DIRECTORY DATABASE MAP_BYTES')
const environment = openBinaryEnvironment({ directory, databases_max: 24, map_bytes: Number(map_bytes) })
const database = openBinaryDatabase(environment, name)
const pinned = environment.useReadTransaction()
writeSync(1, `${database.getKeysCount({ transaction: pinned })}\n`)
setInterval(() => undefined, 1_000)
