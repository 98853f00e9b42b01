import t from 'tap'
import { Exclusive } from '../../../src/config/exclusive.ts'
import { defer } from '../../../src/base/deferred.ts'
import { refuses } from '../../fixtures/config.ts'

t.test('a second caller is refused, maintenance waits', async (test) => {
  const machine = new Exclusive()
  const gate = defer()
  const order: string[] = []
  const first = machine.run('caller', async () => {
    await gate.promise
    order.push('first')
  })
  test.ok(machine.busy)
  await refuses(
    test,
    'APPLY_IN_PROGRESS',
    machine.run('caller', async () => undefined),
  )
  const later = machine.run('maintenance', async () => void order.push('maintenance'))
  const idle = machine.idle().then(() => order.push('idle'))
  gate.resolve()
  await Promise.all([first, later, idle])
  test.equal(order[0], 'first')
  test.ok(order.includes('maintenance'))
  test.notOk(machine.busy)
})

t.test('a caller waits for maintenance, and a failure lets the next one in', async (test) => {
  const machine = new Exclusive()
  const gate = defer()
  const failing = machine.run('maintenance', async () => {
    await gate.promise
    throw new Error('no')
  })
  const waiting = machine.run('caller', async () => 'mine')
  gate.resolve()
  await test.rejects(failing, /no/)
  test.equal(await waiting, 'mine')
})

t.test('maintenance keeps the machine busy, but without a caller', async (test) => {
  const machine = new Exclusive()
  const seen: boolean[] = []
  const look = async () => void seen.push(machine.isCalled)
  const later = (kind: 'caller' | 'maintenance') =>
    machine.run(kind, () => new Promise((resolve) => setImmediate(() => resolve(look()))))
  await later('maintenance')
  await later('caller')
  test.same(seen, [false, true])
  test.equal(machine.isCalled, false)
})
