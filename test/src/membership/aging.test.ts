import { X509Certificate } from 'node:crypto'
import t, { type Test } from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import { newNodeRequest } from '../../../src/cluster/authority.ts'
import { EtcdError } from '../../../src/etcd/errors.ts'
import { replaceAging } from '../../../src/membership/aging.ts'
import { authoritiesIn } from '../../../src/membership/authorities.ts'
import { Members } from '../../../src/membership/members.ts'
import { takeKeys } from '../../../src/membership/own-keys.ts'
import { clusterKeys, spkiOf } from '../../fixtures/cluster-in-memory.ts'
import { openStore } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { FIRST_CERTIFIED, founded } from '../../fixtures/membership.ts'
import { EtcdInMemory } from '../../simulators/etcd-in-memory.ts'

const DAY_MS = 86_400_000

/** The node `a`, the elder of two, and the remaining time of its authorities until new ones are due. */
async function begun(test: Test) {
  const store = openStore(test)
  const clock = manualClock(Date.now())
  const keys = clusterKeys()
  const etcd = new EtcdInMemory().client()
  const members = new Members(store.members)
  await founded(store, etcd, keys, clock.now_ms())
  const { key: privateKey } = await newNodeRequest()
  for (const id of ['a', 'b']) {
    const spki = id === 'a' ? spkiOf(privateKey) : spkiOf((await newNodeRequest()).key)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rest is not looked at
    await members.add(() => ({ id, name: id, pin: id, spki, serials: [], since: id, ...FIRST_CERTIFIED }) as never)
  }
  members.follow(() => takeKeys({ keys, nodeId: 'a', privateKey }, members))
  const state = { isEldest: true }
  const isEldest = () => state.isEldest
  const parts = { own: { clusterId: 'cluster-1' }, etcd, keys, members, clock, isEldest, log: silentLog }
  const look = () => replaceAging(parts)
  const end_ms = (pem: string | undefined) => Date.parse(new X509Certificate(pem ?? '').validTo)
  const numbers = () => members.authorities().map(({ number }) => number)
  const due_ms = end_ms(members.authorities()[0]?.certificates.peer) - 2 * 365 * DAY_MS
  return { look, clock, keys, etcd, members, state, numbers, end_ms, due_ms }
}

t.test('two years before the authorities expire new ones are announced, sealed with a new key, once', async (t) => {
  const { look, clock, keys, etcd, members, numbers, end_ms, due_ms } = await begun(t)
  const before = keys.newestKeyId
  clock.advance(due_ms - clock.now_ms())
  await look()
  t.same([numbers(), keys.newestKeyId], [[1], before], 'there is time')
  clock.advance(1)
  await look()
  t.same(numbers(), [1, 2])
  t.not(keys.newestKeyId, before)
  const newest = members.authorities().at(-1)
  t.equal(newest?.keyId, keys.newestKeyId)
  t.ok(end_ms(newest?.certificates.client) > clock.now_ms() + 19 * 365 * DAY_MS)
  t.same((await authoritiesIn(etcd, keys, keys.newestKeyId)).peer.certificate, newest?.certificates.peer)
  for (let days = 0; days < 3; days++) {
    clock.advance(DAY_MS)
    await look()
  }
  t.same(numbers(), [1, 2], 'while an absent node delays the change')
})

t.test('the eldest available node does it, and none while a removal makes new ones', async (t) => {
  const { look, clock, keys, members, state, numbers, due_ms } = await begun(t)
  clock.advance(due_ms - clock.now_ms() + DAY_MS)
  state.isEldest = false
  await look()
  t.same(numbers(), [1])
  state.isEldest = true
  const member = { ...members.get('b'), id: 'c', pin: 'c' } as never
  const removed = { member, at: '', by: 'a', isLeaving: false, keyId: keys.newestKeyId } as const
  await members.mark(() => ({ ...removed, stage: 'out' }))
  await look()
  t.same(numbers(), [1])
  await members.mark(() => ({ ...removed, stage: 'done' }))
  await look()
  t.same(numbers(), [1, 2], 'once nothing is in its way')
})

t.test('a write that etcd refuses is repeated by the next look, from where it ended', async (t) => {
  const { look, clock, keys, etcd, members, numbers, due_ms } = await begun(t)
  clock.advance(due_ms - clock.now_ms() + DAY_MS)
  const before = keys.newestKeyId
  etcd.fault = ({ key }) => (key.startsWith('/f/authority/') ? 'unreachable' : undefined)
  await t.rejects(look(), EtcdError)
  t.same(numbers(), [1])
  t.not(keys.newestKeyId, before, 'the key was changed')
  etcd.fault = () => undefined
  await look()
  t.same([numbers(), members.keyNotices().length], [[1, 2], 1], 'and is not changed again')
})
