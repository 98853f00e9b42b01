import t from 'tap'
import { gatewaysOf } from '../../../src/membership/gateways.ts'
import type { Members } from '../../../src/membership/members.ts'

const [A, B] = ['https://192.0.2.1:9445', 'https://192.0.2.2:9445']
const own = { clusterId: 'c', name: 'site', nodeId: 'a', epoch: 1, keys: [] as never, host: '192.0.2.1', port: 9444 }
const members = (takenBy?: string) =>
  ({
    all: () => [
      { id: 'a', host: '192.0.2.1', port: 9444 },
      { id: 'b', host: '192.0.2.2', port: 9444 },
    ],
    takeovers: () => (takenBy === undefined ? [] : [{ nodeId: takenBy }]),
  }) as unknown as Members

t.test('its own member comes first when it votes', async (t) => {
  t.same(gatewaysOf(members(), own), [B, A])
  t.same(gatewaysOf(members(), own, { isVoter: true, names: new Set(['a', 'b']) }), [A, B])
})

t.test('a member of another etcd is not asked', async (t) => {
  t.same(gatewaysOf(members(), own, { isVoter: true, names: new Set(['a']) }), [A])
  t.same(gatewaysOf(members('a'), own), [A], 'nor one that may be, after a takeover')
  t.same(gatewaysOf(members('b'), own), [B, A])
  t.same(gatewaysOf(members('a'), { ...own, isReturning: true }), [B, A], 'a returning node uses the others')
})
