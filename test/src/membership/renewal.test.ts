import { X509Certificate } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import t from 'tap'
import { pinOf, readNodeCertificate } from '../../../src/cluster/node-certificate.ts'
import { newClusterKey } from '../../../src/cluster/sealing.ts'
import { keepAuthorities, newAuthorities, pairOf } from '../../../src/membership/authorities.ts'
import { silentLog } from '../../../src/base/log.ts'
import { EtcdError } from '../../../src/etcd/errors.ts'
import { type Member, Members } from '../../../src/membership/members.ts'
import { Renewal } from '../../../src/membership/renewal.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { FIRST_CERTIFIED, formedNode } from '../../fixtures/membership.ts'

const DAY_MS = 86_400_000

t.test("certificates are renewed thirty days before they expire, with the node's present keys", async (t) => {
  const clock = manualClock()
  const { store, keys, client, files, own } = await formedNode(t, clock, { host: '192.0.2.1', port: 9444 })
  const members = new Members(store.members)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rest is not looked at
  await members.add(() => ({ id: 'a', name: 'a', serials: ['first'], since: '', ...FIRST_CERTIFIED }) as never)
  const presented: string[] = []
  const read = () => readNodeCertificate(files.certificates().client.certificate)
  const renewal = new Renewal({
    cluster: { own, etcd: client as never, keys },
    members,
    files,
    clock,
    present: ({ certificate }) => presented.push(certificate),
    wait: async () => clock.advance(60_000),
    log: silentLog,
  })
  const before = read()
  await renewal.look()
  clock.advance(before.notAfter_ms - clock.now_ms() - 30 * DAY_MS - 1)
  await renewal.look()
  t.same([read(), presented], [before, []], 'there is time')
  clock.advance(1)
  await renewal.look()
  t.same(presented, [], 'it was checked within the hour')
  clock.advance(3_600_000)
  client.fault = () => 'unreachable'
  await t.rejects(renewal.look(), EtcdError)
  t.same([read(), members.get('a')?.serials], [before, ['first']], 'as long as the authorities cannot be read')
  client.fault = () => undefined
  await renewal.look()
  const after = read()
  t.not(after.serial, before.serial)
  t.equal(after.pin, before.pin, 'it is recognised by its key')
  t.ok(after.notAfter_ms > before.notAfter_ms + 300 * DAY_MS)
  t.same(presented, [files.certificates().client.certificate])
  const peer = readNodeCertificate(files.certificates().peer.certificate)
  t.match(members.get('a'), { serials: ['first', after.serial, peer.serial] })
  t.equal(members.get('a')?.certificateEnd, new Date(Math.min(after.notAfter_ms, peer.notAfter_ms)).toISOString())
  clock.advance(3_600_000)
  await renewal.look()
  t.equal(presented.length, 1)
})

t.test('certificates that cannot be stored are retried, until other authorities are valid', async (t) => {
  const clock = manualClock(Date.now())
  const { store, keys, client, files, own } = await formedNode(t, clock, { host: '192.0.2.1', port: 9444 })
  const members = new Members(store.members)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rest is not looked at
  const self = { id: 'a', name: 'a', serials: [], since: '', ...FIRST_CERTIFIED } as never as Member
  await members.add(() => self)
  const renewal = new Renewal({
    cluster: { own, etcd: client as never, keys },
    members,
    files,
    clock,
    present: () => undefined,
    wait: async () => undefined,
    log: silentLog,
  })
  const inTheWay = `${files.path('client', 'certificate')}.new`
  mkdirSync(inTheWay)
  clock.advance(340 * DAY_MS)
  for (let again = 0; again < 3; again++) await t.rejects(renewal.look(), { code: 'EISDIR' })
  t.match(members.get('a'), { serials: { length: 2 } }, 'each adds one more to the record on all nodes')
  keys.add(newClusterKey())
  const kept = await keepAuthorities(client, keys, await newAuthorities('cluster-1', clock.now_ms()))
  await members.tellAuthorities(() => pairOf(kept, keys.newestKeyId, 2))
  rmSync(inTheWay, { recursive: true })
  await renewal.look()
  t.match(members.get('a'), { serials: { length: 4 } })
  t.ok(files.certificates().client.ca.includes(kept.client.certificate), 'the current ones are accepted')
})

t.test('certificates are issued by the newest authorities as soon as every node trusts those', async (t) => {
  const clock = manualClock(Date.now())
  const { store, keys, client, files, own } = await formedNode(t, clock, { host: '192.0.2.1', port: 9444 })
  const members = new Members(store.members)
  const presented: string[] = []
  const told: unknown[] = []
  const renewal = new Renewal({
    cluster: { own, etcd: client as never, keys },
    members,
    files,
    clock,
    present: ({ ca }) => {
      presented.push(ca)
      told.push(members.get('a')?.certifiedBy)
    },
    wait: async () => undefined,
    log: silentLog,
  })
  await renewal.look()
  t.same(presented, [], 'it has just joined, and is not yet in its own list')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rest is not looked at
  const self = { id: 'a', name: 'a', serials: ['first'], since: '', ...FIRST_CERTIFIED } as never as Member
  await members.add(() => self)
  await renewal.look()
  const { pin } = readNodeCertificate(files.certificates().client.certificate)
  keys.add(newClusterKey())
  const kept = await keepAuthorities(client, keys, await newAuthorities('cluster-1', clock.now_ms()))
  await members.tellAuthorities(() => pairOf(kept, keys.newestKeyId, 2))
  await renewal.look()
  t.same(presented, [], 'not all trust them')
  await members.add(() => ({ ...self, trusts: 2 }))
  await renewal.look()
  const { certificate, ca } = files.certificates().client
  t.same(presented, [ca])
  t.ok(new X509Certificate(certificate).checkIssued(new X509Certificate(ca)), 'the issuer comes first')
  t.equal(pinOf(ca), kept.client.pin)
  t.equal(readNodeCertificate(certificate).pin, pin, 'of the same key')
  t.same(told, [1], 'it is presented before the announcement, after which others reject the old one')
  t.match(members.get('a'), { certifiedBy: 2, serials: { length: 3 } })
  await renewal.look()
  t.equal(presented.length, 1)
})
