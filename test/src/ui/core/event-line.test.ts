import t from 'tap'
import { eventLineOf } from '../../../../src/ui/core/event-line.ts'

t.test('an event names its object, by name and not by id', async (test) => {
  const cases = [
    [
      { kind: 'realServer', data: { state: 'down', id: 'r', name: 'web2', backendId: 'b', backendName: 'shop' } },
      'Server, down, web2, shop',
    ],
    [
      { kind: 'address', data: { state: 'taken', ip: '192.0.2.7', floatingIpId: 'f', nodeId: 'n' } },
      'Address, taken, 192.0.2.7',
    ],
    [
      { kind: 'job', data: { id: 'j', kind: 'update', title: 'Software update', state: 'running', by: 'ann@x.test' } },
      'Job, running, Software update',
    ],
    [{ kind: 'apply', data: { state: 'applied', by: 'ann@x.test', revision: 7 } }, 'Apply, applied, ann@x.test'],
    [{ kind: 'cluster', data: { state: 'quorum lost' } }, 'Cluster, quorum lost'],
    [{ kind: 'another', data: {} }, 'another'],
  ] as const
  for (const [event, expected] of cases) {
    const { texts, names } = eventLineOf(event)
    test.equal([...texts, ...names].join(', '), expected)
  }
})

t.test('its reason, where that is known', async (test) => {
  test.equal(eventLineOf({ kind: 'realServer', data: { reason: 'L4TOUT' } }).reason, 'L4TOUT')
  test.equal(eventLineOf({ kind: 'job', data: { problem: { code: 'X', message: 'no space' } } }).reason, 'no space')
  for (const data of [{}, { reason: '' }, { problem: null }]) {
    test.equal(eventLineOf({ kind: 'apply', data }).reason, undefined)
  }
})
