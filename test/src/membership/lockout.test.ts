import { X509Certificate } from 'node:crypto'
import t, { type Test } from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import { Lockout } from '../../../src/membership/lockout.ts'
import { Members, type Removed } from '../../../src/membership/members.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { formedNode } from '../../fixtures/membership.ts'

async function begun(test: Test) {
  const clock = manualClock(Date.now())
  const { store, keys, client, files, own } = await formedNode(test, clock, { host: '192.0.2.1', port: 9444 })
  const members = new Members(store.members)
  const presented: (string | undefined)[] = []
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
    present: ({ crl }) => presented.push(crl),
    clock,
    log: silentLog,
    wait: async () => undefined,
  })
  const serial = new X509Certificate(files.certificates().client.certificate).serialNumber
  const member = { id: 'c', name: 'c', host: 'c', port: 1, pin: 'c', spki: '', serials: [serial] }
  const removed = (stage: Removed['stage']): Removed => ({
    member: { ...member, tokenKey: '', version: '1.0.0', since: '' },
    stage,
    at: new Date(clock.now_ms()).toISOString(),
    by: 'a',
    isLeaving: false,
    keyId: keys.newestKeyId,
  })
  const mark = (stage: Removed['stage']) => members.mark(() => removed(stage))
  return { lockout, members, files, presented, done, restart, mark, serial, client }
}

t.test('who was removed is in the lists, and its connections end', async (t) => {
  const { lockout, files, presented, done, mark, serial } = await begun(t)
  await lockout.bring()
  t.same([presented, done], [[], []], 'nobody was removed')
  await mark('marked')
  await lockout.bring()
  t.same(done, [], 'a member of etcd needs its certificate until it is none')
  await mark('out')
  await lockout.bring()
  t.same(files.revoked(), { serials: [serial], isInForce: true })
  t.same([presented, done], [[files.certificates().client.crl], ['restart']])
  await mark('done')
  await lockout.bring()
  t.same(done, ['restart'], 'once')
})

t.test('who is killed before etcd was started again does it later', async (t) => {
  const { lockout, files, done, mark, restart } = await begun(t)
  await mark('out')
  restart.fails = true
  await t.rejects(lockout.bring())
  t.equal(files.revoked().isInForce, false)
  restart.fails = false
  await lockout.bring()
  t.same([files.revoked().isInForce, done], [true, ['restart']])
})

t.test('it waits while another node has the turn', async (t) => {
  const { lockout, files, done, mark, client } = await begun(t)
  await mark('out')
  await client.put('/f/turn', 'b')
  await lockout.bring()
  t.same([files.revoked().isInForce, done], [false, []])
  await client.delete({ key: '/f/turn' })
  await lockout.bring()
  t.same(done, ['restart'])
})

t.test('lists become shorter without a restart', async (t) => {
  const { lockout, files, members, done, mark } = await begun(t)
  await mark('done')
  await lockout.bring()
  await members.forget(['c'])
  await lockout.bring()
  t.same([files.revoked(), done.length], [{ serials: [], isInForce: true }, 1])
})
