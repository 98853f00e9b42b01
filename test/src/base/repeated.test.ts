import t from 'tap'
import { defer } from '../../../src/base/deferred.ts'
import { silentLog } from '../../../src/base/log.ts'
import { Repeated } from '../../../src/base/repeated.ts'

t.test('a look that throws, at once or later, is told and followed by the next', async (test) => {
  const told: unknown[] = []
  let looks = 0
  const third = defer()
  const look = () => {
    looks += 1
    if (looks === 1) throw new Error('at once')
    if (looks === 2) return Promise.reject(new Error('later'))
    return third.resolve()
  }
  const repeated = new Repeated('test', look, 1, { ...silentLog, warn: (_, fields) => void told.push(fields) })
  repeated.start()
  await repeated.now()
  const busy = setInterval(() => undefined, 1_000)
  await third.promise
  clearInterval(busy)
  repeated.stop()
  test.same(told, [
    { look: 'test', reason: 'Error: at once' },
    { look: 'test', reason: 'Error: later' },
  ])
})
