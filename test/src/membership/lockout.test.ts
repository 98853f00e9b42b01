import { X509Certificate } from 'node:crypto'
import t, { type Test } from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import { pinOf } from '../../../src/cluster/node-certificate.ts'
import { newClusterKey } from '../../../src/cluster/sealing.ts'
import { keepAuthorities, newAuthorities, pairOf } from '../../../src/membership/authorities.ts'
import { Lockout } from '../../../src/membership/lockout.ts'
import { Members, type Removed } from '../../../src/membership/members.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { FIRST_CERTIFIED, formedNode } from '../../fixtures/membership.ts'

async function begun(test: Test) {
  const clock = manualClock(Date.now())
  const { store, keys, client, files, own } = await formedNode(test, clock, { host: '192.0.2.1', port: 9444 })
  const members = new Members(store.members)
  const presented: (readonly string[] | undefined)[] = []
  const done: string[] = []
  const restart = { fails: false }
  const etcd = Object.assign(client, {
    leases: {
      grant: async () => ({ id: '1', ttl_s: 30 }),
      revoke: async () => await client.delete({ key: '/f/turn' }),
    },
    maintenance: { status: async () => ({ leader: '1' }) },
  })
  const lockout = new Lockout({
    own,
    etcd: etcd as never,
    keys,
    members,
    files,
    service: {
      restart: async () => {
        if (restart.fails) throw new Error('killed')
        done.push('restart')
      },
    } as never,
    position: () => 7,
    present: ({ crls }) => presented.push(crls),
    clock,
    log: silentLog,
    wait: async () => undefined,
  })
  const serial = new X509Certificate(files.certificates().client.certificate).serialNumber
  const member = { id: 'c', name: 'c', host: 'c', port: 1, pin: 'c', serials: [serial], ...FIRST_CERTIFIED }
  const removed = (stage: Removed['stage']): Removed => ({
    member: { ...member, version: '1.0.0', since: '' },
    stage,
    at: new Date(clock.now_ms()).toISOString(),
    by: 'a',
    isLeaving: false,
    keyId: keys.newestKeyId,
  })
  const mark = (stage: Removed['stage']) => members.mark(() => removed(stage))
  return { lockout, members, files, presented, done, restart, mark, serial, client, keys, clock }
}

t.test('a removed node is in the lists, and its connections end', async (t) => {
  const { lockout, files, presented, done, mark, serial } = await begun(t)
  await lockout.bring()
  t.same([presented, done], [[], []], 'no node was removed')
  await mark('marked')
  await lockout.bring()
  t.same(done, [], 'an etcd member needs its certificate until it is removed')
  await mark('out')
  await lockout.bring()
  t.match(files.trust(), { serials: [serial], authorities: [1], isInForce: true })
  t.same([presented, done], [[files.certificates().client.crls], ['restart']])
  await mark('done')
  await lockout.bring()
  t.same(done, ['restart'], 'once')
})

t.test('a daemon killed before the restart of etcd does it later', async (t) => {
  const { lockout, files, done, mark, restart } = await begun(t)
  await mark('out')
  restart.fails = true
  await t.rejects(lockout.bring())
  t.equal(files.trust().isInForce, false)
  restart.fails = false
  await lockout.bring()
  t.same([files.trust().isInForce, done], [true, ['restart']])
})

t.test("it waits during another node's turn", async (t) => {
  const { lockout, files, done, mark, client } = await begun(t)
  await mark('out')
  await client.put('/f/turn', 'b')
  await lockout.bring()
  t.same([files.trust().isInForce, done], [false, []])
  await client.delete({ key: '/f/turn' })
  await lockout.bring()
  t.same(done, ['restart'])
})

t.test('lists shrink without a restart', async (t) => {
  const { lockout, files, members, done, mark } = await begun(t)
  await mark('done')
  await lockout.bring()
  await members.forget(['c'])
  await lockout.bring()
  t.match(files.trust(), { serials: [], isInForce: true })
  t.equal(done.length, 1)
})

t.test('etcd trusts new authorities after its restart, which is then announced', async (t) => {
  const { lockout, files, members, done, restart, client, keys, clock, presented } = await begun(t)
  const self = { id: 'a', name: 'a', serials: [], since: '', ...FIRST_CERTIFIED }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rest is not looked at
  await members.add(() => self as never)
  keys.add(newClusterKey())
  const kept = await keepAuthorities(client, keys, await newAuthorities('cluster-1', clock.now_ms()))
  await members.tellAuthorities(() => pairOf(kept, keys.newestKeyId, 2))
  restart.fails = true
  await t.rejects(lockout.bring())
  t.same([files.trust().authorities, files.trust().isInForce, members.get('a')?.trusts], [[1, 2], false, 1])
  restart.fails = false
  await lockout.bring()
  t.same([done, members.get('a')?.trusts, presented.length], [['restart'], 2, 1])
  const { ca, crls } = files.certificates().client
  t.same([ca.split('BEGIN CERTIFICATE').length, crls?.length], [3, 2])
  t.not(pinOf(ca), kept.client.pin, 'that of its own certificate comes first')
  await members.dropAuthorities(() => members.authorities().slice(0, 1))
  await lockout.bring()
  t.same([files.trust().authorities, done.length, members.get('a')?.trusts], [[2], 2, 2])
  t.equal(files.certificates().client.ca, kept.client.certificate)
  await lockout.bring()
  t.equal(done.length, 2)
})
