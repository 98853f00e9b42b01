import t from 'tap'
import { openBinaryDatabase, openBinaryEnvironment, removeRange } from '../../storage/env.ts'
import { keySecond, makeKey } from '../../storage/archive/layout.ts'
import { temporaryFolder } from './temporary-archive.ts'

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
