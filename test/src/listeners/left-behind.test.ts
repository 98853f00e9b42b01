import t from 'tap'
import { leftBehindGuard } from '../../../src/listeners/left-behind.ts'
import { viewOf } from '../../fixtures/view.ts'

const guard = (local: string, isLeaving: boolean) =>
  leftBehindGuard(
    { port: 9443, leaves: () => isLeaving },
    { connections: async () => [{ local, destination: '0.0.0.0/0' }] },
  )(viewOf({}), viewOf({}), '::ffff:198.51.100.7')

t.test('a client whose address the API leaves is warned', async (test) => {
  test.match(await guard('192.0.2.10', true), /no longer listen on 192\.0\.2\.10/)
  test.equal(await guard('192.0.2.10', false), undefined)
  test.equal(await guard('198.51.100.7', true), undefined, 'a client on this machine')
})

t.test('an apply that leaves the API in place looks up nothing', async (test) => {
  const asking = leftBehindGuard(
    { port: 9443, leaves: () => false },
    { connections: () => Promise.reject(new Error('asked')) },
  )
  test.equal(await asking(viewOf({}), viewOf({}), '198.51.100.7'), undefined)
})
