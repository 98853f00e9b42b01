import t from 'tap'
import { LeftRecords } from '../../../src/acme/left-records.ts'
import type { Log } from '../../../src/base/log.ts'
import type { AcmeOrder } from '../../../src/model/acme.ts'
import { acmeOrder } from '../../fixtures/acme.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { viewOf } from '../../fixtures/view.ts'

const HOUR_MS = 3_600_000
const ORDER = acmeOrder('o', 'a', { challenge: 'dns-01', dns: { scriptId: 's' } })
const ONE = { name: '_acme-challenge.site.test', value: 'one' }
const TWO = { name: '_acme-challenge.site.test', value: 'two' }

/** Records left by existing or deleted orders, at a provider that may be down. */
function fixture() {
  const state: { orders: AcmeOrder[]; isDown: boolean } = { orders: [], isDown: true }
  const asked: string[] = []
  const told: string[] = []
  const clock = manualClock()
  const log: Pick<Log, 'warn'> = { warn: (message) => void told.push(message) }
  const left = new LeftRecords({
    agreed: { get: (section, id) => viewOf({ acmeOrders: state.orders }).get(section, id) },
    records: {
      async remove({ id }, answers) {
        asked.push(`${id} ${answers.map(({ value }) => value).join()}`)
        return state.isDown ? { left: answers.slice(-1), why: 'it is down' } : { left: [], why: undefined }
      },
    },
    clock,
    log,
  })
  const look = () => left.removeOfDeleted(new AbortController().signal)
  return { left, state, asked, told, clock, look }
}

t.test('records that a deleted order has left are removed when the provider is back', async (test) => {
  const { left, state, asked, clock, look } = fixture()
  left.note(ORDER, [ONE, TWO])
  await look()
  await look()
  test.same(asked, ['o one,two'], 'not again at once')
  clock.advance(300_000)
  state.isDown = false
  await look()
  test.same(asked, ['o one,two', 'o two'], 'the remaining record')
  clock.advance(24 * HOUR_MS)
  await look()
  test.equal(asked.length, 2)
})

t.test('records that could not be removed before the order was deleted are removed afterwards', async (test) => {
  const { left, state, asked, clock, look } = fixture()
  state.orders = [{ ...ORDER, progress: { of: 'x', leftovers: [ONE] } }]
  test.same(await left.removed(ORDER, [ONE]), [ONE])
  await look()
  state.orders = []
  clock.advance(300_000)
  state.isDown = false
  await look()
  test.same(asked, ['o one', 'o one'])
})

t.test('the removal is given up after some tries, which is reported', async (test) => {
  const { left, asked, told, clock, look } = fixture()
  left.note(ORDER, [ONE])
  for (let days = 0; days < 20; days += 1) {
    await look()
    clock.advance(24 * HOUR_MS)
  }
  test.equal(asked.length, 8)
  test.equal(told.at(-1), 'DNS records of a deleted order remain')
})

t.test('records that another node has removed are not removed when the order is deleted', async (test) => {
  const { left, state, asked, look } = fixture()
  left.note(ORDER, [ONE])
  state.orders = [{ ...ORDER, progress: { of: 'x', answers: [ONE] } }]
  await look()
  state.orders = [{ ...ORDER, progress: { of: 'x' } }]
  await look()
  state.orders = []
  await look()
  test.same(asked, [])
})
