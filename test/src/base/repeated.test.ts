import t from 'tap'
import { defer } from '../../../src/base/deferred.ts'
import { silentLog } from '../../../src/base/log.ts'
import { Repeated } from '../../../src/base/repeated.ts'

t.test('a look that throws, at once or later, is logged and followed by the next', async (test) => {
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

t.test('repeated failures for one reason are logged once a minute, with their number', async (test) => {
  const told: unknown[] = []
  let [now_ms, reason] = [0, 'full' as string | undefined]
  const look = () => {
    if (reason !== undefined) throw new Error(reason)
  }
  const log = { ...silentLog, warn: (_: string, fields?: object) => void told.push(fields) }
  const repeated = new Repeated('test', look, 1_000, log, () => now_ms)
  const looksFor = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      await repeated.now()
      now_ms += 1_000
    }
  }
  const failed = { look: 'test', reason: 'Error: full' }
  await looksFor(60)
  test.same(told.splice(0), [failed])
  await looksFor(1)
  test.same(told.splice(0), [{ ...failed, before: 59 }])
  reason = 'another'
  await looksFor(2)
  test.same(told.splice(0), [{ look: 'test', reason: 'Error: another' }])
  reason = undefined
  await looksFor(1)
  reason = 'another'
  await looksFor(1)
  test.equal(told.length, 1, 'it succeeded in between')
})
