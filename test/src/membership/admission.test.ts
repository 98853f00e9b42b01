import t, { type Test } from 'tap'
import { admit, type Applicant } from '../../../src/membership/admission.ts'
import { LEVEL } from '../../../src/cluster/levels.ts'
import { newRequests } from '../../../src/membership/foundation.ts'
import { Members } from '../../../src/membership/members.ts'
import { clusterKeys } from '../../fixtures/cluster-in-memory.ts'
import { openStore, refuses } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { FIRST_CERTIFIED, founded } from '../../fixtures/membership.ts'
import { EtcdInMemory } from '../../simulators/etcd-in-memory.ts'

const KEY = { keyId: '0011223344556677', key: Buffer.alloc(32).toString('base64url'), seals: 0 }

async function begun(test: Test) {
  const store = openStore(test)
  const clock = manualClock(Date.now())
  const keys = clusterKeys()
  const added: (readonly string[])[] = []
  const client = new EtcdInMemory().client()
  await founded(store, client, keys, clock.now_ms())
  const removed: string[] = []
  const voter = { id: 'first', name: 'node-1', peerUrls: ['https://a:3'] }
  const etcd = Object.assign(client, {
    members: {
      list: async () => [voter, ...added.map((peerUrls) => ({ id: peerUrls.join(), name: '', peerUrls }))],
      add: async (peerUrls: readonly string[]) => void added.push(peerUrls),
      remove: async (id: string) => {
        added.splice(0, 1)
        removed.push(id)
      },
    },
  })
  const members = new Members(store.members)
  const own = {
    clusterId: 'cluster-1',
    name: 'site',
    nodeId: 'node-1',
    epoch: 1,
    keys: [KEY] as const,
    host: 'a',
    port: 1,
  }
  const self = {
    ...own,
    id: 'node-1',
    name: 'left',
    pin: '',
    spki: '',
    serials: [],
    ...FIRST_CERTIFIED,
    tokenKey: '',
    version: '1.0.0',
    since: '2026',
  }
  await members.add(() => self)
  const applicant = async (more: Partial<Applicant> = {}): Promise<Applicant> => {
    const { requests } = await newRequests()
    return {
      id: 'node-2',
      name: 'right',
      host: '192.0.2.2',
      port: 9444,
      version: '1.0.0',
      tokenKey: 'k',
      level: LEVEL,
      isReplacing: false,
      own: undefined,
      requests,
      ...more,
    }
  }
  const take = (one: Applicant) =>
    admit({ own, etcd, keys, log: { position: 1 } } as never, { members, store }, one, clock, async () => undefined)
  return { store, members, added, removed, applicant, take, keys }
}

t.test('a node is known to all before it receives anything, and votes later', async (t) => {
  const { members, added, removed, applicant, take, keys } = await begun(t)
  const one = await applicant()
  const welcome = await take(one)
  t.same(added, [['https://192.0.2.2:9446']])
  t.match(members.get('node-2'), { name: 'right', serials: { length: 2 }, tokenKey: 'k' })
  t.match(welcome, {
    clusterId: 'cluster-1',
    name: 'site',
    epoch: 1,
    keys: [{ keyId: keys.newestKeyId, seals: 0 }],
    gateways: ['https://a:2'],
  })
  t.same(Object.keys(welcome.members), ['node-1', 'node-2'])
  await take(one)
  t.equal(added.length, 1, 'once, however often it asks')
  t.same(removed, added[0], 'its old one may be gone')
  t.equal(members.get('node-2')?.serials.length, 4, 'every certificate can be revoked later')
})

t.test('it learns the current etcd members: a node in maintenance may have none', async (t) => {
  const { members, applicant, take } = await begun(t)
  const self = members.get('node-1')!
  await members.add(() => ({ ...self, id: 'aside', name: 'aside', host: 'b' }))
  const { members: told } = await take(await applicant())
  t.same(told, { 'node-1': ['https://a:3'], 'node-2': ['https://192.0.2.2:9446'] })
})

t.test('names and addresses are unique, and there are at most five', async (t) => {
  const { members, applicant, take } = await begun(t)
  await refuses(t, 'NAME_NOT_UNIQUE', take(await applicant({ name: 'LEFT' })))
  await take(await applicant())
  await refuses(t, 'IN_USE', take(await applicant({ id: 'node-3', name: 'third' })))
  await take(await applicant({ id: 'node-3', name: 'node-3', host: '2001:db8::3' }))
  for (const host of ['2001:DB8::3', '2001:db8:0::3'])
    await refuses(t, 'IN_USE', take(await applicant({ id: 'node-4', name: 'node-4', host })))
  for (const id of ['node-4', 'node-5']) await take(await applicant({ id, name: id, host: `192.0.2.${id.at(-1)}` }))
  await refuses(t, 'LIMIT_REACHED', take(await applicant({ id: 'node-6', name: 'sixth', host: '192.0.2.6' })))
  t.equal(members.all().length, 5, 'a refused node is not listed')
})

t.test('a node takes the place of a removed one, and of no other', async (t) => {
  const { members, applicant, take } = await begun(t)
  const replacing = { isReplacing: true, name: 'new' }
  await refuses(t, 'NOT_FOUND', take(await applicant(replacing)))
  await take(await applicant())
  const member = members.get('node-2')
  if (member === undefined) throw new Error('it was let in')
  const removed = { member, at: '', by: 'node-1', isLeaving: false, keyId: '' }
  await members.remove(() => ({ ...removed, stage: 'marked' }))
  await refuses(t, 'JOB_IN_PROGRESS', take(await applicant(replacing)))
  await members.mark(() => ({ ...removed, stage: 'done' }))
  await take(await applicant(replacing))
  t.equal(members.get('node-2')?.name, 'new')
  t.equal((await take(await applicant(replacing))).clusterId, 'cluster-1', 'again, when the answer was lost')
})

t.test('records of the node alone are running before it begins, once', async (t) => {
  const { store, added, applicant, take } = await begun(t)
  const own = {
    ipGroups: [
      {
        id: 'lan',
        name: 'lan',
        networkIp: '192.0.2.0',
        networkMask: 24,
        gateway: '',
        defaultGateway: false,
        assignedInterfaces: [{ nodeId: 'node-2', interfaceId: 'eth0' }],
      },
    ],
    staticIps: [{ id: 'sip', nodeId: 'node-2', groupId: 'lan', ip: '192.0.2.2', externalPingCheck: true }],
  }
  const one = await applicant({ own })
  await take(one)
  await take(one)
  t.equal(store.revision, 1)
  t.match(store.revisions(1), [{ by: 'fulcrum', comment: 'right has joined with its addresses and settings' }])
  t.equal(store.running.list('staticIps', '').length, 1)

  t.comment('nothing comes between during an apply')
  await store.write({ op: 'freeze', applyId: 'other', changes: [] })
  const before = added.length
  await refuses(t, 'APPLY_IN_PROGRESS', take(await applicant({ own, id: 'node-3', name: 'third', port: 9450 })))
  t.equal(added.length, before)
})
