import t, { type Test } from 'tap'
import { errorOf } from '../../fixtures/etcd-error.ts'
import { headerRevision } from '../../../src/etcd/fields.ts'
import { Gateways, REMEMBERED_MS } from '../../../src/etcd/gateways.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { CREDENTIALS, etcdGateway, type Handler, RENEWED, says, silent } from '../../simulators/etcd-gateway.ts'

const READ = { path: 'kv/range', fields: {} }
const WRITE = { path: 'kv/put', fields: {}, isWrite: true }
const CUT_OFF = says({ code: 14, message: 'etcdserver: no leader' }, 503)
const PATIENT = { timeout_ms: 300_000 }
const asIs = (fields: unknown) => fields

async function members(test: Test, ...handlers: readonly Handler[]) {
  const all = await Promise.all(handlers.map(async (handler) => await etcdGateway(test, handler)))
  const clock = manualClock()
  const gateways = new Gateways({ gateways: all.map(({ url }) => url), credentials: CREDENTIALS, clock, ...PATIENT })
  test.teardown(() => gateways.close())
  const counts = () => all.map(({ asked }) => asked.length)
  return { all, clock, gateways, counts }
}

t.test('a member that cannot accept a call is skipped, and asked last for a while', async (test) => {
  const { gateways, counts, clock } = await members(test, CUT_OFF, says({ from: 'second' }))
  test.same(await gateways.ask(WRITE, asIs), { from: 'second' })
  test.same(counts(), [1, 1])
  test.same(await gateways.ask(WRITE, asIs), { from: 'second' })
  test.same(counts(), [1, 2])
  clock.advance(REMEMBERED_MS)
  test.same(await gateways.ask(READ, asIs), { from: 'second' })
  test.same(counts(), [2, 3], 'its own one is tried again')
})

t.test('a write that may have been executed is not sent twice', async (test) => {
  const breaks: Handler = (response) => response.socket?.destroy()
  const { gateways, counts } = await members(test, breaks, says({ from: 'second' }))
  test.match(await errorOf(gateways.ask(WRITE, asIs)), { kind: 'unknown-outcome' })
  test.same(counts(), [1, 0])
  test.same(await gateways.ask(WRITE, asIs), { from: 'second' }, 'the next one goes elsewhere')
  test.same(counts(), [1, 1])
})

t.test('a read continues at another member when the first one hangs', async (test) => {
  const { gateways, counts } = await members(test, silent, says({ from: 'second' }))
  test.same(await gateways.ask(READ, asIs, { timeout_ms: 2000 }), { from: 'second' })
  test.equal(counts()[1], 1)
})

t.test('a refusal of etcd is final', async (test) => {
  const refuses = says({ code: 5, message: 'etcdserver: requested lease not found' }, 404)
  const { gateways, counts } = await members(test, refuses, says({}))
  test.match(await errorOf(gateways.ask(READ, asIs)), { kind: 'refused', facts: { code: 5 } })
  test.match(await errorOf(gateways.ask(READ, asIs)), { kind: 'refused' })
  test.same(counts(), [2, 0], 'it answered, so it stays the first')
})

t.test('a member that is not the leader leaves it to the others', async (test) => {
  const follower = says({ code: 9, message: 'etcdserver: not leader' }, 400)
  const { gateways, counts } = await members(test, follower, follower, says({ from: 'leader' }))
  test.same(await gateways.ask(WRITE, asIs), { from: 'leader' })
  test.match(await errorOf((await members(test, follower, follower)).gateways.ask(WRITE, asIs)), {
    kind: 'refused',
    facts: { code: 9 },
  })
  test.same(counts(), [1, 1, 1])
})

t.test('no member accepts it: the most specific kind', async (test) => {
  const { gateways, all } = await members(test, CUT_OFF, says({}))
  await all[1]?.close()
  test.match(await errorOf(gateways.ask(WRITE, asIs)), { kind: 'no-leader', message: /it has no leader; .*it refuses/ })
})

t.test('one member by its URL', async (test) => {
  const { gateways, counts, all } = await members(test, says({}), says({ from: 'second' }))
  const at = all[1]?.url ?? ''
  test.same(await gateways.ask(READ, asIs, { at }), { from: 'second' })
  test.same(counts(), [0, 1])
  gateways.use([all[0]?.url ?? ''])
  test.same(await gateways.ask(READ, asIs, { at }), { from: 'second' }, 'also one that is only asked by its URL')
})

t.test('an unreadable answer: a write was executed or not', async (test) => {
  const { gateways, counts } = await members(test, says({ header: { revision: 'x' } }), says({ header: {} }))
  test.match(await errorOf(gateways.ask(WRITE, headerRevision)), { kind: 'unknown-outcome' })
  test.same(counts(), [1, 0])
})

t.test('a stream starts at the first member that accepts it', async (test) => {
  const { gateways, all } = await members(test, CUT_OFF, says({ result: {} }))
  const address = await gateways.open({ path: 'watch', fields: {} }, async (response, from) => {
    response.destroy()
    return from
  })
  test.equal(`https://${address}`, all[1]?.url)
})

t.test('another certificate is used from the next call on, also for members that are added later', async (test) => {
  const { all, gateways } = await members(test, says({ from: 'first' }), says({ from: 'second' }))
  const [first, second] = all.map(({ url }) => url)
  gateways.use([first ?? ''])
  await gateways.ask(READ, asIs)
  gateways.present(RENEWED)
  await gateways.ask(READ, asIs)
  gateways.use([second ?? ''])
  await gateways.ask(READ, asIs)
  test.same(
    all.map(({ asked }) => asked.map(({ from }) => from)),
    [['fulcrum', 'renewed'], ['renewed']],
  )
})

t.test('closed', async (test) => {
  const { gateways, counts } = await members(test, () => gateways.close(), says({}))
  test.match(await errorOf(gateways.ask(READ, asIs)), { kind: 'closed' })
  test.match(await errorOf(gateways.ask(WRITE, asIs)), { kind: 'closed' })
  test.same(counts(), [1, 0])
})
