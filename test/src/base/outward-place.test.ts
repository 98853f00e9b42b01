import t from 'tap'
import { outwardPlace } from '../../../src/base/outward-place.ts'

/** Its rules are also tested where they are enforced: test/workers/alerts/attempt.test.ts. */
const STRICT = { allowsLoopback: false, allowed: [], refusal: 'nothing may be' }

t.test('the refusal names the forbidden address', async (test) => {
  await test.rejects(outwardPlace('[::1]', STRICT), { message: '::1 is at ::1, where nothing may be' })
  await test.rejects(outwardPlace('localhost', STRICT), /where nothing may be/)
  await test.rejects(outwardPlace('name.invalid', STRICT), { code: 'ENOTFOUND' })
})

t.test('the address found is the one connected to', async (test) => {
  const { address, family, lookup } = await outwardPlace('localhost', { ...STRICT, allowsLoopback: true })
  const one = await new Promise((resolve) => {
    lookup('localhost', {}, (_, found, kind) => resolve([found, kind]))
  })
  test.same(one, [address, family])
  test.match(await outwardPlace('127.0.0.1', { ...STRICT, allowed: ['127.0.0.0/8'] }), { family: 4 })
})
