import { randomBytes } from 'node:crypto'
import t from 'tap'
import type { StoreState } from '../../../storage/config/store-state.ts'
import { type Checkpoint, Checkpoints, digestOf } from '../../../src/cluster/checkpoint.ts'
import { LargeValues } from '../../../src/cluster/large-values.ts'
import { BASE, logName, partName } from '../../../src/cluster/places.ts'
import { newClusterKey } from '../../../src/cluster/sealing.ts'
import { clusterKeys } from '../../fixtures/cluster-in-memory.ts'
import { openStore } from '../../fixtures/config.ts'
import { freezeIn, promoteIn, stageIn } from '../../fixtures/entries.ts'
import { EtcdInMemory } from '../../simulators/etcd-in-memory.ts'

const KEPT = 10
const thing = (key: string, value: unknown) => ({ section: 'things', scope: '', key, value })
const row = (key: string, value: unknown, revision = 1) => ({
  section: 'things',
  scope: '',
  key,
  stored: { value, revision },
})
const pending = (key: string, value: unknown) => ({
  ...row(key, value),
  revision: 1,
  changeId: `c-${key}`,
  actor: 'tester',
  endpoint: 'test',
  at: '',
})
const STATE: StoreState = {
  sequence: 7,
  revision: 3,
  running: [row('a', 1), row('b', { c: [1] })],
  candidate: [pending('a', 2), { ...pending('b', 0), stored: undefined }],
  frozen: [{ applyId: 'apply', changes: [] }],
  shared: [
    { table: 'sessions', key: 's', value: { userId: 'u' } },
    { table: 'members', key: 's', value: { name: 'n' } },
  ],
  revisions: [],
}
const checkpointOf = (position: number, state = STATE): Checkpoint => ({ position, digest: `d${position}`, state })

function begun() {
  const store = new EtcdInMemory()
  const etcd = store.client()
  const checkpoints = new Checkpoints(etcd, new LargeValues(etcd, clusterKeys()), KEPT)
  const names = async (prefix: string) =>
    (await etcd.range({ prefix })).kvs.map(({ key }) => Buffer.from(key).toString())
  return { store, etcd, checkpoints, names }
}

t.test('what counts for the digest', async (t) => {
  const digest = await digestOf(STATE)
  const { running, candidate, shared } = STATE
  const same = {
    ...STATE,
    running: running.toReversed(),
    candidate: candidate.toReversed(),
    shared: shared.toReversed(),
  }
  t.equal(await digestOf(same), digest, 'not the order')
  t.equal(await digestOf(JSON.parse(JSON.stringify(STATE)) as StoreState), digest, 'nor the way through etcd')
  t.match(digest, /^[0-9a-f]{64}$/)
  const others: readonly Partial<StoreState>[] = [
    { sequence: 8 },
    { revision: 4 },
    { running: [row('a', 1)] },
    { running: [row('a', 1), row('b', { c: [2] })] },
    { running: [row('a', 1, 2), row('b', { c: [1] })] },
    { running: [row('a', 1), { ...row('b', { c: [1] }), scope: 'node-1' }] },
    { candidate: candidate.slice(1) },
    { candidate: candidate.map((change) => ({ ...change, actor: 'another' })) },
    { candidate: [pending('a', 2), pending('b', null)] },
    { running: [], candidate: [...candidate, pending('x', 1)] },
    { frozen: [] },
    { frozen: [{ applyId: 'another', changes: [] }] },
  ]
  const digests = await Promise.all(others.map((other) => digestOf({ ...STATE, ...other })))
  t.equal(new Set([digest, ...digests]).size, others.length + 1, 'each of these')
})

t.test('a store has the digest of the state that it was made of', async (t) => {
  const [one, other] = [openStore(t), openStore(t)]
  await stageIn(one, [thing('a', 1), thing('b', 2)])
  const changes = await freezeIn(one, () => true)
  await promoteIn(one, changes, { applyId: 'apply', revision: 1, by: 'tester', at: '', comment: '' })
  await stageIn(one, [thing('a', 3), { ...thing('b', undefined) }])
  const state = JSON.parse(JSON.stringify(one.folding.snapshot())) as StoreState
  await other.folding.replace(state, 9)
  t.equal(await digestOf(other.folding.records()), await digestOf(one.folding.records()))
  t.equal(other.candidate.get('things', '', 'b'), undefined)
})

t.test('there is none before the first', async (t) => {
  t.equal(await begun().checkpoints.read(), undefined)
})

t.test('a checkpoint is read back unchanged, small or large', async (t) => {
  const { checkpoints, names } = begun()
  await checkpoints.write(checkpointOf(5))
  t.same(await checkpoints.read(), JSON.parse(JSON.stringify(checkpointOf(5))))
  t.same(await names('/f/part/'), [])
  const large = { ...STATE, running: [row('a', randomBytes(400_000).toString('base64'))] }
  await checkpoints.write(checkpointOf(6, large))
  t.equal((await names('/f/part/')).length, 3)
  t.same(await checkpoints.read(), JSON.parse(JSON.stringify(checkpointOf(6, large))))
})

t.test('entries and parts far behind it are deleted, younger ones stay', async (t) => {
  const { etcd, checkpoints, names } = begun()
  for (let position = 1; position <= 25; position++) {
    await etcd.put(logName(position), 'entry')
    await etcd.put(partName(position, 'id', 0), 'part')
  }
  await checkpoints.write(checkpointOf(KEPT))
  t.equal((await names('/f/log/')).length, 25, 'nothing is old enough')
  await checkpoints.write(checkpointOf(20))
  t.same([(await names('/f/log/'))[0], (await names('/f/log/')).length], [logName(11), 15])
  t.same([(await names('/f/part/'))[0], (await names('/f/part/')).length], [partName(11, 'id', 0), 15])
})

t.test('the parts of the previous one are deleted with it', async (t) => {
  const { checkpoints, names } = begun()
  const large = { ...STATE, running: [row('a', randomBytes(400_000).toString('base64'))] }
  await checkpoints.write(checkpointOf(10, large))
  await checkpoints.write(checkpointOf(20, large))
  const parts = await names('/f/part/')
  t.equal(parts.length, 3)
  t.ok(parts.every((name) => name.startsWith('/f/part/000000000020/')))
  t.equal((await checkpoints.read())?.position, 20)
})

t.test('an older one does not replace a later one', async (t) => {
  const { etcd, checkpoints, names } = begun()
  await etcd.put(logName(8), 'entry')
  await checkpoints.write(checkpointOf(15))
  await checkpoints.write(checkpointOf(9))
  await checkpoints.write({ ...checkpointOf(15), digest: 'twice' })
  t.match(await checkpoints.read(), { position: 15, digest: 'd15' })
  t.same(await names('/f/log/'), [logName(8)])
})

t.test('nor when it was slow: the faster one stays, and nothing of it is left', async (t) => {
  const { store, etcd, checkpoints, names } = begun()
  const fast = store.client()
  const others = new Checkpoints(fast, new LargeValues(fast, clusterKeys()), KEPT)
  const large = { ...STATE, running: [row('a', randomBytes(400_000).toString('base64'))] }
  let release = () => undefined as void
  const late = new Promise<void>((resolve) => {
    release = resolve
  })
  // It has checked, and then writes its parts slowly.
  etcd.fault = ({ kind }) => (kind === 'put' ? late : undefined)
  const slow = checkpoints.write(checkpointOf(10, large))
  await others.write(checkpointOf(20))
  release()
  await slow
  t.equal((await checkpoints.read())?.position, 20)
  t.same(await names('/f/part/'), [])
})

t.test('an older checkpoint does not pass for a later one', async (t) => {
  const { etcd, checkpoints } = begun()
  await checkpoints.write(checkpointOf(5))
  const { kvs } = await etcd.range({ key: BASE })
  await etcd.put(BASE, Buffer.concat([Buffer.from('000000000009'), Buffer.from(kvs[0]?.value ?? '').subarray(12)]))
  await t.rejects(checkpoints.read(), { code: 'NOT_AUTHENTIC' })
})

t.test('stored values are resealed with the newest key on request', async (t) => {
  const store = openStore(t)
  const etcd = new EtcdInMemory().client()
  const keys = clusterKeys()
  const checkpoints = new Checkpoints(etcd, new LargeValues(etcd, keys), KEPT)
  const folding = { position: 5, snapshot: () => store.folding.snapshot() }
  await checkpoints.write(checkpointOf(4))
  let turns = 0
  const inTurn = async (work: () => Promise<void>) => {
    turns += 1
    await work()
  }
  await checkpoints.seal(folding, keys.newestKeyId, inTurn)
  t.equal(turns, 0, 'it already is')
  keys.add(newClusterKey())
  await checkpoints.seal(folding, keys.newestKeyId, inTurn)
  t.equal((await checkpoints.read())?.position, 5)
  await checkpoints.seal(folding, keys.newestKeyId, inTurn)
  t.equal(turns, 1)
})
