import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import {
  closeEnvironment,
  openBinaryDatabase,
  openBinaryEnvironment,
  removeRange,
  usedBytes,
} from '../../storage/env.ts'
import { keySecond, makeKey } from '../../storage/archive/layout.ts'
import { temporaryFolder } from '../fixtures/folder.ts'

t.test('bytes in, bytes out; ranges are removed up to a limit; a failed transaction leaves nothing', async (t) => {
  const environment = openBinaryEnvironment({ directory: temporaryFolder(t), databases_max: 4, map_bytes: 1 << 20 })
  const database = openBinaryDatabase(environment, 'a')
  environment.transactionSync(() => {
    for (let i = 0; i < 10; i++) database.putSync(makeKey(0, i), new Uint8Array([i]), { append: true })
  })
  t.strictSame([...(database.get(makeKey(0, 3)) ?? [])], [3])
  removeRange(database, { end: makeKey(0, 8), limit: 5 })
  t.strictSame(Array.from(database.getKeys(), keySecond), [5, 6, 7, 8, 9])
  const fail = (): void => {
    database.putSync(makeKey(1, 1), new Uint8Array([1]))
    throw new Error('no')
  }
  t.throws(() => environment.transactionSync(fail))
  t.equal(database.get(makeKey(1, 1)), undefined)
  await environment.close()
})

t.test('a read during a close is refused, with no other effect', async (t) => {
  const environment = openBinaryEnvironment({ directory: temporaryFolder(t), databases_max: 4, map_bytes: 1 << 20 })
  const database = openBinaryDatabase(environment, 'a')
  const key = makeKey(0, 1)
  await database.put(key, new Uint8Array([1]))
  const written = database.put(key, new Uint8Array([2]))
  const closed = closeEnvironment(environment)
  const reads = [
    () => database.get(key),
    () => [...database.getKeys()],
    () => [...database.getRange({})],
    () => usedBytes(environment),
  ]
  const refused = () => reads.forEach((read) => t.throws(read, { message: 'the store is closed' }))
  refused()
  // Otherwise the library throws here, where it cannot be caught.
  await sleep(1)
  refused()
  await Promise.all([written, closed])
  refused()
  await closeEnvironment(environment)
})

t.test('the map grows from next to nothing while another process reads; a killed reader pins nothing', async (t) => {
  const directory = temporaryFolder(t)
  const map_bytes = 128 * 1_024
  const environment = openBinaryEnvironment({ directory, databases_max: 24, map_bytes })
  const database = openBinaryDatabase(environment, 'a')
  let from = 0
  let to = 0
  /** A ring: as much is deleted as is added, once it is full. */
  const round = (keys: number, kept: number): void => {
    environment.transactionSync(() => {
      for (let i = 0; i < keys; i++)
        database.putSync(makeKey(0, to++), new Uint8Array(1_000).fill(to), { append: true })
      for (; to - from > kept; from++) database.removeSync(makeKey(0, from))
    })
  }
  const rounds = (n: number): number => {
    for (let i = 0; i < n; i++) round(20, 2_000)
    return usedBytes(environment)
  }
  const full = rounds(200)
  t.ok(full > 2_000_000, 'far more than the map was at first')
  t.ok(rounds(100) < full * 1.1, 'a full ring does not grow')
  const script = new URL('pinning-child.ts', import.meta.url).pathname
  const args = ['--disable-warning=ExperimentalWarning', script, directory, 'a', String(map_bytes)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  t.equal(Number(await once(child.stdout, 'data')), 2_000, 'it sees all of it')
  const pinned = rounds(300)
  t.ok(pinned > full * 1.5, 'the pages that it reads are not overwritten')
  child.kill('SIGKILL')
  await exited
  environment.readerCheck()
  const after = rounds(600)
  t.ok(after <= pinned * 1.1, 'the space is reused')
  t.equal(database.getKeysCount(), 2_000)
  t.ok(Array.from(database.getRange()).every(({ key, value }) => value[0] === ((keySecond(key) + 1) & 0xff)))
  await environment.close()
})
