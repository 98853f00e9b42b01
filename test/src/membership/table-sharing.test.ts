import t, { type Test } from 'tap'
import { newNamedKey } from '../../../src/cluster/authority.ts'
import { ClusterFiles, type OwnMembership } from '../../../src/membership/cluster-files.ts'
import { Members } from '../../../src/membership/members.ts'
import { showHaproxy, TableSharing } from '../../../src/membership/table-sharing.ts'
import { openStore } from '../../fixtures/config.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const OWN = { clusterId: 'c', nodeId: 'a', host: '192.0.2.1', port: 9444 } as OwnMembership

async function fixture(t: Test) {
  const members = new Members(openStore(t).members)
  const files = new ClusterFiles(temporaryFolder(t, 'state'))
  // Sound: nothing else of it is used.
  await files.prepare(
    { peer: { key: '', certificate: '', ca: '' }, client: { key: '', certificate: '', ca: '' } },
    { serials: [], authorities: [], lists: { peer: '', client: '' }, ofClients: [] },
    [],
  )
  const clock = manualClock()
  const add = (id: string, since: string, more: object) =>
    members.add(() => ({ id, name: id, since, port: 9444, ...more }) as never)
  return { members, files, clock, add, show: () => showHaproxy(files, members, OWN, clock) }
}

t.test('a node generates a key once, and announces its certificate', async (t) => {
  const { members, files, add, show } = await fixture(t)
  await show()
  t.equal(files.haproxy, undefined, 'it is not a member yet')
  await add('a', '1', { host: '192.0.2.1' })
  await show()
  const { certificate } = files.haproxy ?? {}
  t.ok(certificate?.startsWith('-----BEGIN CERTIFICATE-----'))
  t.equal(members.get('a')?.haproxy, certificate)
  await members.change('a', ({ haproxy: _lost, ...member }) => member)
  await show()
  t.equal(members.get('a')?.haproxy, certificate, 'its own one, where the others have lost it')
})

t.test('a node whose name has several addresses keeps the one found first', async (t) => {
  const { members, files, clock, add, show } = await fixture(t)
  const answers = [['192.0.2.3', '192.0.2.4'], ['192.0.2.4', '192.0.2.3'], ['192.0.2.4']]
  const lookUp = async () => answers.shift() ?? []
  const sharing = new TableSharing({ own: () => OWN, files, members, clock, lookUp })
  await add('a', '1', { host: '192.0.2.1' })
  await show()
  await add('c', '3', { host: 'lb3.test', haproxy: 'certificate of c\n' })
  for (const ip of ['192.0.2.3', '192.0.2.3', '192.0.2.4']) {
    t.match(await sharing.now(), { others: [{ id: 'c', ip }] }, 'each change would be a reload of HAProxy')
    clock.advance(60_000)
  }
})

t.test('tables are shared with nodes that have announced their certificate', async (t) => {
  const { members, files, clock, add, show } = await fixture(t)
  const looked: string[] = []
  const lookUp = async (host: string) => {
    looked.push(host)
    return answers.shift() ?? []
  }
  const answers = [[], ['192.0.2.3'], [], ['192.0.2.33']]
  const state: { own: OwnMembership | undefined } = { own: OWN }
  const sharing = new TableSharing({ own: () => state.own, files, members, clock, lookUp })
  await add('a', '1', { host: '192.0.2.1' })
  t.equal(await sharing.now(), undefined, 'it has not announced its own')
  await show()
  await add('b', '2', { host: '2001:db8::2', haproxy: 'certificate of b\n' })
  await add('c', '3', { host: 'lb3.test', haproxy: 'certificate of c\n' })
  await add('d', '4', { host: '192.0.2.4' })
  await add('e', '5', { host: '192.0.2.5', port: 65_533, haproxy: 'of an earlier version\n' })
  const { certificate = '', key = '' } = files.haproxy ?? {}
  const b = { id: 'b', ip: '2001:db8::2', port: 9447 }
  const first = await sharing.now()
  t.same(first, {
    self: 'a',
    ip: '192.0.2.1',
    port: 9447,
    own: certificate + key,
    named: `${certificate}certificate of b\ncertificate of c\n`,
    others: [b],
  })
  const others = async () => (await sharing.now())?.others.map(({ id, ip }) => `${id} ${ip}`)
  t.same(await others(), ['b 2001:db8::2'], 'an unknown name is not looked up again at once')
  for (const c of ['192.0.2.3', '192.0.2.3', '192.0.2.33']) {
    clock.advance(60_000)
    t.same(await others(), ['b 2001:db8::2', `c ${c}`])
  }
  t.same(looked, ['lb3.test', 'lb3.test', 'lb3.test', 'lb3.test'])

  await members.change('b', (member) => ({ ...member, haproxy: 'another key of b\n' }))
  t.match(await sharing.now(), { named: /another key of b/ })
  await members.change('a', (member) => ({ ...member, haproxy: 'of who took its place' }))
  t.equal(await sharing.now(), undefined)
  state.own = undefined
  t.equal(await sharing.now(), undefined)
})

t.test('a node with a host name listens on all addresses', async (t) => {
  const { members, files, clock } = await fixture(t)
  const made = await newNamedKey('c', 'a', 0)
  await files.keepHaproxy(made)
  await members.add(() => ({ id: 'a', since: '1', host: 'lb1.test', port: 9444, haproxy: made.certificate }) as never)
  const own = () => ({ ...OWN, host: 'lb1.test' })
  t.match(await new TableSharing({ own, files, members, clock }).now(), { ip: '0.0.0.0', others: [] })
})
