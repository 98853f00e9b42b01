import t from 'tap'
import { Type } from 'typebox'
import { Problems } from '../../../src/backup-file/problems.ts'
import { StaticIp } from '../../../src/model/network.ts'

t.test('one entry for each place with a problem', (test) => {
  const problems = new Problems()
  const address = { id: 'a', nodeId: 'n', groupId: 'g', ip: '192.0.2.1', externalPingCheck: true }
  test.equal(problems.fit(StaticIp, 'x', address), true)
  test.equal(problems.fit(StaticIp, 'x', { ...address, ip: 3, nodeId: '' }), false)
  test.equal(problems.fit(StaticIp, 'y', 3), false)
  test.same(problems.list.map(({ field }) => field).toSorted(), ['x.ip', 'x.nodeId', 'y'])
  test.end()
})

t.test('at most a hundred are reported', (test) => {
  const problems = new Problems()
  for (let n = 0; n < 200; n += 1) problems.add(String(n), 'INVALID', 'x')
  test.equal(problems.list.length, 100)
  test.ok(problems.isFull)
  test.end()
})

t.test('a list of many equal entries is found at once, not by comparing each with each', (test) => {
  const problems = new Problems()
  const schema = Type.Object({ groups: Type.Array(Type.String(), { maxItems: 10, uniqueItems: true }) })
  test.notOk(problems.fit(schema, 'users.0', { groups: Array.from({ length: 1_000_000 }, () => 'x') }))
  test.match(problems.list, [{ field: 'users.0.groups', code: 'INVALID', message: /10 items/ }])
  test.end()
})
