import t from 'tap'
import { Problems } from '../../../src/backup/problems.ts'
import { StaticIp } from '../../../src/model/network.ts'

t.test('one entry for each place that does not fit', (test) => {
  const problems = new Problems()
  const address = { id: 'a', nodeId: 'n', groupId: 'g', ip: '192.0.2.1', externalPingCheck: true }
  test.equal(problems.fit(StaticIp, 'x', address), true)
  test.equal(problems.fit(StaticIp, 'x', { ...address, ip: 3, nodeId: '' }), false)
  test.equal(problems.fit(StaticIp, 'y', 3), false)
  test.same(problems.list.map(({ field }) => field).toSorted(), ['x.ip', 'x.nodeId', 'y'])
  test.end()
})

t.test('nobody is told more than a hundred', (test) => {
  const problems = new Problems()
  for (let n = 0; n < 200; n += 1) problems.add(String(n), 'INVALID', 'x')
  test.equal(problems.list.length, 100)
  test.ok(problems.isFull)
  test.end()
})
