import t from 'tap'
import { readNodeCertificate } from '../../../src/cluster/node-certificate.ts'
import { silentLog } from '../../../src/base/log.ts'
import { EtcdError } from '../../../src/etcd/errors.ts'
import { Members } from '../../../src/membership/members.ts'
import { Renewal } from '../../../src/membership/renewal.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { formedNode } from '../../fixtures/membership.ts'

const DAY_MS = 86_400_000

t.test('certificates are renewed thirty days before they end, with the keys that the node has', async (t) => {
  const clock = manualClock()
  const { store, keys, client, files, own } = await formedNode(t, clock, { host: '192.0.2.1', port: 9444 })
  const members = new Members(store.members)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rest is not looked at
  await members.put({ id: 'a', name: 'a', serials: ['first'], since: '' } as never)
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
  t.same(presented, [], 'it was looked at within the hour')
  clock.advance(3_600_000)
  client.fault = () => 'unreachable'
  await t.rejects(renewal.look(), EtcdError)
  t.same([read(), members.get('a')?.serials], [before, ['first']], 'as long as the authorities cannot be asked')
  client.fault = () => undefined
  await renewal.look()
  const after = read()
  t.not(after.serial, before.serial)
  t.equal(after.pin, before.pin, 'it is known by its key')
  t.ok(after.notAfter_ms > before.notAfter_ms + 300 * DAY_MS)
  t.same(presented, [files.certificates().client.certificate])
  const peer = readNodeCertificate(files.certificates().peer.certificate)
  t.match(members.get('a'), { serials: ['first', after.serial, peer.serial] })
  t.equal(members.get('a')?.certificateEnd, new Date(Math.min(after.notAfter_ms, peer.notAfter_ms)).toISOString())
  clock.advance(3_600_000)
  await renewal.look()
  t.equal(presented.length, 1)
})
