import { X509Certificate } from 'node:crypto'
import t, { type Test } from 'tap'
import { EtcdService } from '../../../src/membership/etcd-service.ts'
import { Members } from '../../../src/membership/members.ts'
import { changeNode, settle, startAt } from '../../../src/membership/moving.ts'
import { pinOf } from '../../../src/cluster/node-certificate.ts'
import { refuses } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { FIRST_CERTIFIED, formedNode } from '../../fixtures/membership.ts'
import { ownLoopback } from '../../fixtures/traffic.ts'

const [BEFORE, AFTER] = [ownLoopback(), ownLoopback()]

/** The first of two nodes. */
async function begun(test: Test) {
  const clock = manualClock(Date.now())
  const place = { host: BEFORE, port: 9444 }
  const { store, keys, client, files, own } = await formedNode(test, clock, place)
  const updated: unknown[] = []
  const partners = [{ name: 'b', isLearner: false }]
  const etcd = Object.assign(client, {
    members: {
      update: async (...args: readonly unknown[]) => updated.push(args),
      list: async () => [{ name: 'a', isLearner: false }, ...partners],
    },
  })
  const verbs: unknown[] = []
  const execute = async (steps: readonly object[]) => {
    verbs.push(Reflect.get(steps[0] ?? {}, 'verb'))
    return { ok: true, done: 0, recorded: 0, warnings: [] } as const
  }
  const service = new EtcdService({ execute, check: execute }, files)
  const args = service.argumentsOf(own, { a: [`https://${BEFORE}:9446`] }, 'new')
  await files.keepArguments(args)
  await files.commit(own)
  const members = new Members(store.members)
  const common = { spki: '', serials: ['1'], ...FIRST_CERTIFIED, tokenKey: '', version: '1.0.0' }
  await members.add(() => ({ ...common, ...place, id: 'a', name: 'left', pin: 'pa', since: '1' }))
  await members.add(() => ({ ...common, id: 'b', name: 'right', host: '127.0.0.2', port: 9444, pin: 'pb', since: '2' }))
  const cluster = { own, etcd: etcd as never, keys }
  const wait = async (ms: number) => clock.advance(ms)
  const parts = { cluster, members, files, clock, wait }
  return { parts, own, members, files, service, verbs, updated, cluster, partners }
}

t.test('a name is changed, unless another node has it', async (t) => {
  const { parts, members } = await begun(t)
  t.equal(await changeNode(parts, 'first'), false)
  t.match(members.get('a'), { name: 'first', host: BEFORE })
  t.match(
    (await refuses(t, 'NAME_NOT_UNIQUE', changeNode(parts, 'RIGHT'))).message,
    /has the name right \(\w+\): choose/,
  )
  await changeNode(parts, 'FIRST')
  t.equal(members.get('a')?.name, 'FIRST')
})

t.test('another address is certified before it is announced', async (t) => {
  const { parts, own, members, files } = await begun(t)
  const before = files.certificates()
  await refuses(t, 'IN_USE', changeNode(parts, 'first', { host: '127.0.0.2', port: 9444 }))
  await refuses(t, 'INVALID_BODY', changeNode(parts, 'first', { host: '192.0.2.1', port: 9444 }))
  t.same([members.get('a')?.name, files.certificates()], ['left', before], 'nothing is changed')
  t.equal(await changeNode(parts, undefined, { host: BEFORE, port: 9444 }), false, 'the same')
  t.equal(await changeNode(parts, undefined, { host: AFTER, port: 9444 }), true)
  for (const role of ['peer', 'client'] as const) {
    const { certificate, key } = files.certificates()[role]
    const shown = new X509Certificate(certificate)
    t.ok(shown.checkIP(BEFORE) && shown.checkIP(AFTER), 'while it moves it has both')
    t.equal(pinOf(shown), pinOf(before[role].certificate), 'its key stays')
    t.equal(key, before[role].key)
    t.ok(members.get('a')?.serials.includes(shown.serialNumber))
  }
  t.match(files.read(), { ...own, host: AFTER, port: 9444 })
  t.equal(members.get('a')?.host, BEFORE, 'the others are told when it is there')
})

t.test('an address is the same one however it is written', async (t) => {
  const { parts, members } = await begun(t)
  await members.change('b', (member) => ({ ...member, host: '2001:db8::2' }))
  await refuses(t, 'IN_USE', changeNode(parts, undefined, { host: '2001:DB8:0::2', port: 9444 }))
  const own = { ...parts.cluster.own, host: '2001:db8::1', port: 9444 }
  const cluster = { ...parts.cluster, own }
  t.equal(await changeNode({ ...parts, cluster }, undefined, { host: '2001:DB8::1', port: 9444 }), false)
})

t.test('of two nodes neither moves while the other one has no vote, and would not find it', async (t) => {
  const { parts, members, files, partners } = await begun(t)
  const maintained = { since: '3', by: 'ann', reason: 'a new fan' }
  await members.change('b', (member) => ({ ...member, maintenance: maintained }))
  const refusal = await refuses(t, 'IN_USE', changeNode(parts, 'first', { host: AFTER, port: 9444 }))
  t.match(refusal.message, /right .* in maintenance/)
  t.match([files.read()?.host, members.get('a')?.name], [BEFORE, 'left'], 'nothing is changed')
  await changeNode(parts, 'first')
  await members.change('b', ({ maintenance: _before, ...member }) => member)
  for (const listed of [[], [{ name: 'b', isLearner: true }]]) {
    partners.splice(0, 1, ...listed)
    await refuses(t, 'IN_USE', changeNode(parts, undefined, { host: AFTER, port: 9444 }))
  }
  partners.splice(0, 1, { name: 'b', isLearner: false })
  t.equal(await changeNode(parts, undefined, { host: AFTER, port: 9444 }), true)
})

t.test("later additions to the node's file stay when it moves", async (t) => {
  const { parts, own, files } = await begun(t)
  await files.commit({ ...own, isReturning: true })
  const returned = { ...parts, cluster: { ...parts.cluster, own: { ...own, isReturning: true } } }
  await files.change({ isReturning: undefined, vote: 'out', epoch: 3 })
  await changeNode(returned, undefined, { host: AFTER, port: 9444 })
  t.match(files.read(), { host: AFTER, isReturning: undefined, vote: 'out', epoch: 3 })
})

t.test('the next start follows the file of the node', async (t) => {
  const { own, members, files, service, verbs, updated, cluster } = await begun(t)
  await startAt(own, files, service)
  const moved = { ...own, host: AFTER, port: 9444 }
  await startAt(moved, files, service)
  await startAt(moved, files, service)
  t.same(verbs, ['start', 'stop', 'start', 'start'])
  t.ok(files.hasArgument(`--listen-peer-urls=https://${AFTER}:9446`))
  const listed = (url: string) => [{ id: '7', name: 'a', peerUrls: [url], clientUrls: [], isLearner: false }]
  await settle(cluster, members, listed(`https://${BEFORE}:9446`))
  t.same(updated, [], 'nothing has changed')
  await settle({ ...cluster, own: moved }, members, listed(`https://${BEFORE}:9446`))
  t.same(updated, [['7', [`https://${AFTER}:9446`]]])
  t.match(members.get('a'), { host: AFTER, port: 9444, name: 'left' })
})
