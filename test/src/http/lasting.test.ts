import t from 'tap'
import { lasting, reported } from '../../../src/http/lasting.ts'
import { silentLog } from '../../../src/base/log.ts'

const asked = { actor: { userId: 'u', email: 'a@b', sessionId: 's' }, requestId: 'r' }
const whole = { status: 200, contentType: 'text/plain', body: '', headers: {} }

t.test('a lasting answer is counted for its user, and no other answer', async (test) => {
  const slices = () => [][Symbol.iterator]() as never
  test.match(lasting({ ...whole, slices }, asked, silentLog), { holder: 'u' })
  test.match(lasting({ ...whole, stream: () => () => undefined }, asked, silentLog), { holder: 'u' })
  test.equal(lasting(whole, asked, silentLog), whole)
  const late = Promise.resolve(whole)
  test.equal(lasting(late, asked, silentLog), late)
})

t.test('the reason of an aborted answer is logged, once, and a defect is not a crash', async (test) => {
  const told: unknown[] = []
  const tell = (reason: unknown) => told.push(reason)
  const run = (slices: Generator<Uint8Array, string | undefined>) => [...reported(slices, tell, tell)].length
  const make = function* (end: () => string | undefined) {
    yield Buffer.from('a')
    return end()
  }
  test.equal(run(make(() => undefined)), 1)
  test.same(told, [])
  run(make(() => 'reason'))
  test.same(told, ['reason'])
  run(
    make(() => {
      throw new Error('defect')
    }),
  )
  test.match(told[1], new Error('defect'))
})
