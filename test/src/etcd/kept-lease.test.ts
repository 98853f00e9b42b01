import t, { type Test } from 'tap'
import { EtcdError } from '../../../src/etcd/errors.ts'
import { KeptLease } from '../../../src/etcd/kept-lease.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const TTL_S = 0.03

/** `answer` has the number of the question. */
function keep(test: Test, answer: (question: number) => Promise<number>, clock = manualClock()) {
  let asked = 0
  const waiting: { readonly from: number; readonly resolve: () => void }[] = []
  const lease = new KeptLease({
    id: '1',
    ttl_s: TTL_S,
    clock,
    keepAlive: async () => {
      asked += 1
      for (const one of waiting) if (asked >= one.from) one.resolve()
      return await answer(asked)
    },
  })
  test.teardown(() => lease.close())
  const wasAsked = async (from: number) =>
    await new Promise<void>((resolve) => {
      waiting.push({ from, resolve })
    })
  return { lease, clock, wasAsked, count: () => asked }
}

const unreachable = new EtcdError('unreachable', 'it refuses connections')
const isOpen = async (promise: Promise<void>) =>
  await Promise.race([promise.then(() => false), new Promise<boolean>((resolve) => setImmediate(resolve, true))])

t.test('it is kept again and again', async (test) => {
  const { lease, wasAsked } = keep(test, async () => TTL_S)
  await wasAsked(4)
  test.ok(await isOpen(lease.lost))
})

t.test('etcd says that it is gone', async (test) => {
  const { lease, count } = keep(test, async (question) => (question < 3 ? TTL_S : 0))
  await lease.lost
  test.equal(count(), 3)
})

t.test('it may be gone when it was not kept for its time', async (test) => {
  const { lease, clock, wasAsked, count } = keep(test, async () => await Promise.reject(unreachable))
  await wasAsked(3)
  test.ok(await isOpen(lease.lost), 'its time is not over')
  clock.advance(TTL_S * 1000)
  await lease.lost
  test.ok(count() > 3)
})

t.test('one that was kept again in time is not lost', async (test) => {
  const parts = keep(test, async (question) => {
    if (question !== 2) return await Promise.reject(unreachable)
    parts.clock.advance((TTL_S * 1000) / 2)
    return TTL_S
  })
  await parts.wasAsked(4)
  test.ok(await isOpen(parts.lease.lost))
  // Counted from when it was asked for.
  parts.clock.advance((TTL_S * 1000) / 2)
  await parts.lease.lost
})

t.test('closed: nothing is asked any more, and nothing is lost', async (test) => {
  let close = () => undefined as void
  const { lease, wasAsked, count } = keep(test, async () => {
    close()
    return 0
  })
  close = () => lease.close()
  await wasAsked(1)
  test.ok(await isOpen(lease.lost))
  test.equal(count(), 1)
})

t.test('what is no trouble of etcd’s is not swallowed', async (test) => {
  const { lease } = keep(test, async () => await Promise.reject(new TypeError('a mistake')))
  await test.rejects(lease.lost, /a mistake/)
})
