import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { LargeValues, MissingPartError } from '../../../src/cluster/large-values.ts'
import { partName } from '../../../src/cluster/places.ts'
import { ClusterKeys, newClusterKey, SealingError } from '../../../src/cluster/sealing.ts'
import { clusterKeys } from '../../fixtures/cluster-in-memory.ts'
import { errorOf } from '../../fixtures/etcd-error.ts'
import { EtcdInMemory } from '../../simulators/etcd-in-memory.ts'

const NAME = '/f/log/000000000007'
const POSITION = 7
const ID = 'id-1'
const KIB = 1024

function begun() {
  const store = new EtcdInMemory()
  const etcd = store.client()
  return { store, etcd, values: new LargeValues(etcd, clusterKeys()) }
}
type Begun = ReturnType<typeof begun>

const partsIn = async ({ etcd }: Begun) =>
  (await etcd.range({ prefix: '/f/part/' })).kvs.map(({ key }) => Buffer.from(key).toString())

const refusal = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  )

for (const [size, parts] of [
  [0, 0],
  [1, 0],
  [64 * KIB, 0],
  [64 * KIB + 1, 1],
  [256 * KIB, 1],
  [256 * KIB + 1, 2],
  [1_000 * KIB, 4],
] as const) {
  t.test(`${size} bytes take ${parts} parts`, async (t) => {
    const one = begun()
    const value = randomBytes(size)
    const sealed = await one.values.sealed(NAME, value, POSITION, ID)
    t.same(
      await partsIn(one),
      Array.from({ length: parts }, (_, part) => partName(POSITION, ID, part)),
    )
    t.ok(sealed.length < 65 * KIB, 'the value that replaces it is small')
    t.ok((await one.values.opened(NAME, sealed, POSITION)).equals(value))
  })
}

async function inParts(t: Test) {
  const one = begun()
  const value = randomBytes(600 * KIB)
  const sealed = await one.values.sealed(NAME, value, POSITION, ID)
  t.equal((await partsIn(one)).length, 3)
  return { ...one, value, sealed }
}

t.test('parts are written before the value is answered', async (t) => {
  const one = begun()
  one.etcd.fault = ({ key }) => (key.endsWith('/0001') ? 'unreachable' : undefined)
  t.equal((await errorOf(one.values.sealed(NAME, randomBytes(600 * KIB), POSITION, ID))).kind, 'unreachable')
  t.same(await partsIn(one), [partName(POSITION, ID, 0)])
})

t.test('large values are deflated', async (t) => {
  const one = begun()
  await one.values.sealed(NAME, Buffer.alloc(256 * KIB, 'a'), POSITION, ID)
  const { kvs } = await one.etcd.range({ prefix: '/f/part/' })
  t.ok((kvs[0]?.value.length ?? Infinity) < 2 * KIB)
})

t.test('after a member that lags, another one is asked', async (t) => {
  const one = await inParts(t)
  let asked = 0
  const range = one.etcd.range.bind(one.etcd)
  one.etcd.range = async (span, options) => {
    asked += 1
    const answer = await range(span, options)
    return options?.isSerializable === true ? { ...answer, kvs: [] } : answer
  }
  t.ok((await one.values.opened(NAME, one.sealed, POSITION)).equals(one.value))
  t.equal(asked, 6)
})

t.test('a missing part is reported as such', async (t) => {
  const one = await inParts(t)
  await one.etcd.delete({ key: partName(POSITION, ID, 2) })
  const error = await refusal(one.values.opened(NAME, one.sealed, POSITION))
  t.ok(error instanceof MissingPartError, String(error))
})

t.test('parts of another value are not accepted', async (t) => {
  const one = await inParts(t)
  const [place, keys] = [partName(POSITION, ID, 0), clusterKeys()]
  await one.etcd.put(place, keys.seal(place, randomBytes(256 * KIB)))
  const error = await refusal(one.values.opened(NAME, one.sealed, POSITION))
  t.ok(error instanceof MissingPartError, String(error))
})

t.test('a part in the place of another does not open', async (t) => {
  const one = await inParts(t)
  const { kvs } = await one.etcd.range({ key: partName(POSITION, ID, 1) })
  await one.etcd.put(partName(POSITION, ID, 0), kvs[0]?.value ?? '')
  const error = await refusal(one.values.opened(NAME, one.sealed, POSITION))
  t.ok(error instanceof SealingError && error.code === 'NOT_AUTHENTIC', String(error))
})

t.test('a value opens only under its own name, and with the key of its cluster', async (t) => {
  const one = begun()
  const sealed = await one.values.sealed(NAME, Buffer.from('secret'), POSITION, ID)
  t.notOk(Buffer.from(sealed).includes('secret'))
  await t.rejects(one.values.opened('/f/log/000000000008', sealed, 8), { code: 'NOT_AUTHENTIC' })
  const others = new LargeValues(one.etcd, new ClusterKeys('cluster-1', [newClusterKey()]))
  await t.rejects(others.opened(NAME, sealed, POSITION), { code: 'KEY_UNKNOWN' })
})

t.test('of a deleted value nothing is left, and of others everything', async (t) => {
  const one = await inParts(t)
  const other = randomBytes(100 * KIB)
  const sealed = await one.values.sealed(NAME, other, POSITION, 'id-2')
  await one.values.forget(POSITION, ID)
  t.same(await partsIn(one), [partName(POSITION, 'id-2', 0)])
  t.ok((await one.values.opened(NAME, sealed, POSITION)).equals(other))
})

t.test('a missing key is looked up once', async (t) => {
  const etcd = new EtcdInMemory().client()
  const [keys, young] = [clusterKeys(), newClusterKey()]
  const sealed = await new LargeValues(etcd, new ClusterKeys(keys.clusterId, [young])).sealed(
    NAME,
    Buffer.alloc(100 * KIB, 7),
    POSITION,
    ID,
  )
  let asked = 0
  const values = (found: boolean) =>
    new LargeValues(etcd, keys, async () => {
      asked += 1
      if (found) keys.hold(young)
    })
  t.match(await refusal(values(false).opened(NAME, sealed, POSITION)), { code: 'KEY_UNKNOWN' })
  t.equal((await values(true).opened(NAME, sealed, POSITION)).length, 100 * KIB)
  t.equal(asked, 2)
})
