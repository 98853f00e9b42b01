import { createCipheriv, randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import { deflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { lengthPrefixed } from '../../../src/cluster/length-prefixed.ts'
import {
  ClusterKeys,
  keyIdOf,
  newClusterKey,
  SealingError,
  type SealingProblem,
  SEALS_DUE,
  SEALS_MAX,
  VALUE_BYTES_MAX,
} from '../../../src/cluster/sealing.ts'

const CLUSTER = '0198c0de-0000-7000-8000-000000000001'
const NAME = '/f/log/000000000042'
const newKeys = (clusterId = CLUSTER) => new ClusterKeys(clusterId, [newClusterKey()])
const keys = newKeys()

function problemOf(open: () => unknown): SealingProblem | undefined {
  try {
    open()
    return undefined
  } catch (error) {
    if (error instanceof SealingError) return error.code
    throw error
  }
}

const sizes = fc.oneof(
  { weight: 4, arbitrary: fc.nat(300) },
  { weight: 1, arbitrary: fc.nat(1024 * 1024) },
  { weight: 1, arbitrary: fc.constantFrom(0, 1, 65_536, 1024 * 1024) },
)
/** Half of them deflate. */
const values = fc
  .tuple(sizes, fc.boolean())
  .map(([size, isRandom]) => (isRandom ? randomBytes(size) : Buffer.alloc(size, '{"name":"web","weight":100},')))
const names = fc.string({ maxLength: 40 })

t.test('a sealed value opens in its place: 0 bytes to 1 MiB, deflated or not', async () => {
  fc.assert(
    fc.property(values, names, fc.boolean(), (value, name, deflate) =>
      keys.open(name, keys.seal(name, value, { deflate })).equals(value),
    ),
    { numRuns: 150 },
  )
})

t.test('a value sealed by an earlier version opens', async (test) => {
  const key = Buffer.alloc(32, 7).toString('base64url')
  const held = new ClusterKeys('cluster', [{ keyId: '0011223344556677', key, seals: 0 }])
  const plain =
    '0100001122334455667702649f9255ccbbc70b9f1e1f819389c570500561c4dbf34a9db5737001b8e5e09d167034fec2810d58a7'
  const deflated =
    '01010011223344556677d4e1b73a8bd83ca276d0dee630223d7eb53c75990f572e87be15e5976fc9ec32017b73897ba61d244dad77d4758e15'
  const open = (hex: string) => held.open('/f/log/000000000001', Buffer.from(hex, 'hex')).toString()
  test.equal(open(plain), '{"op":"stage"}')
  test.equal(open(deflated), '{"op":"stage"}'.repeat(4))
})

t.test('every flipped bit is refused', async (test) => {
  for (const deflate of [false, true]) {
    const sealed = keys.seal(NAME, Buffer.alloc(100, 'secret '), { deflate })
    test.equal(sealed[1], deflate ? 1 : 0)
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const flipped = Buffer.from(sealed)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const problem = problemOf(() => keys.open(NAME, flipped))
      if (problem === undefined || problem === 'INFLATE') test.fail(`bit ${bit}: ${problem}`)
    }
  }
})

t.test('a value that is truncated, extended or empty is refused', async (test) => {
  const sealed = keys.seal(NAME, Buffer.from('a value'))
  for (let length = 0; length < sealed.length; length += 1) {
    test.match(
      problemOf(() => keys.open(NAME, sealed.subarray(0, length))),
      /^(SHAPE|NOT_AUTHENTIC)$/,
    )
    test.match(
      problemOf(() => keys.open(NAME, sealed.subarray(length + 1))),
      /^[A-Z_]+$/,
    )
  }
  test.equal(
    problemOf(() => keys.open(NAME, Buffer.concat([sealed, Buffer.alloc(1)]))),
    'NOT_AUTHENTIC',
  )
})

t.test('anything else is refused with a code', async (test) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => problemOf(() => keys.open(NAME, bytes)) !== undefined),
    { numRuns: 500 },
  )
  test.equal(
    problemOf(() => keys.open(NAME, Buffer.alloc(60, 1))),
    'KEY_UNKNOWN',
  )
  test.equal(
    problemOf(() => keys.open(NAME, Buffer.alloc(60, 2))),
    'VERSION',
  )
  test.equal(
    problemOf(() => keys.open(NAME, Buffer.from([1, 2, ...randomBytes(60)]))),
    'SHAPE',
  )
})

t.test('a value belongs to its name, its sequence number and its cluster', async (test) => {
  fc.assert(
    fc.property(values, names, names, (value, name, other) => {
      fc.pre(name !== other)
      return problemOf(() => keys.open(other, keys.seal(name, value))) === 'NOT_AUTHENTIC'
    }),
    { numRuns: 100 },
  )
  const sealed = keys.seal(NAME, Buffer.from('entry 42'))
  test.equal(
    problemOf(() => keys.open('/f/log/000000000043', sealed)),
    'NOT_AUTHENTIC',
    'replayed',
  )
  const [stored] = keys.stored()
  if (stored === undefined) throw new Error('there is a key')
  const elsewhere = new ClusterKeys(`${CLUSTER}2`, [stored])
  test.equal(
    problemOf(() => elsewhere.open(NAME, sealed)),
    'NOT_AUTHENTIC',
    'the same key in another cluster',
  )
  // Cluster id and name are distinguished.
  const [one, other] = [new ClusterKeys('ab', [stored]), new ClusterKeys('a', [stored])]
  test.equal(
    problemOf(() => other.open('bc', one.seal('c', Buffer.from('x')))),
    'NOT_AUTHENTIC',
  )
  const forged = new ClusterKeys(CLUSTER, [{ ...newClusterKey(), keyId: stored.keyId }])
  test.equal(
    problemOf(() => keys.open(NAME, forged.seal(NAME, Buffer.from('x')))),
    'NOT_AUTHENTIC',
    'wrong key',
  )
  test.equal(
    problemOf(() => newKeys().open(NAME, sealed)),
    'KEY_UNKNOWN',
  )
})

t.test('the newest key seals, all open, until one is removed', async (test) => {
  const [first, second] = [newClusterKey(), newClusterKey()]
  const held = new ClusterKeys(CLUSTER, [first])
  const old = held.seal(NAME, Buffer.from('old'))
  held.add(second)
  test.equal(held.newestKeyId, second.keyId)
  const young = held.seal(NAME, Buffer.from('young'))
  test.equal(young.toString('hex', 2, 10), second.keyId)
  test.equal(held.open(NAME, old).toString(), 'old')
  test.same(held.stored(), [
    { ...first, seals: 1 },
    { ...second, seals: 1 },
  ])
  const [a, b] = held.stored()
  if (a === undefined || b === undefined) throw new Error('there are two')
  test.equal(new ClusterKeys(CLUSTER, [a, b]).open(NAME, young).toString(), 'young')
  test.throws(() => held.remove(second.keyId), RangeError)
  held.remove(first.keyId)
  test.equal(
    problemOf(() => held.open(NAME, old)),
    'KEY_UNKNOWN',
  )
  test.equal(held.open(NAME, young).toString(), 'young')
})

t.test('seals of a key are counted: it becomes due, then spent', async (test) => {
  const held = new ClusterKeys(CLUSTER, [{ ...newClusterKey(), seals: SEALS_DUE - 1 }])
  test.notOk(held.isRotationDue)
  held.seal(NAME, Buffer.alloc(0))
  test.ok(held.isRotationDue)
  const spent = new ClusterKeys(CLUSTER, [{ ...newClusterKey(), seals: SEALS_MAX - 1 }])
  const last = spent.seal(NAME, Buffer.from('last'))
  test.equal(
    problemOf(() => spent.seal(NAME, Buffer.alloc(0))),
    'KEY_SPENT',
  )
  test.equal(spent.open(NAME, last).toString(), 'last')
  spent.add(newClusterKey())
  test.notOk(spent.isRotationDue)
  spent.seal(NAME, Buffer.alloc(0))
  // Eight nodes together stay within the bound of SP 800-38D.
  test.ok(8 * SEALS_MAX <= 2 ** 32)
})

t.test('nonces differ', async (test) => {
  const nonces = Array.from({ length: 1000 }, () => keys.seal(NAME, Buffer.from('x')).toString('hex', 10, 22))
  test.equal(new Set(nonces).size, nonces.length)
})

t.test('sizes are bounded on both sides', async (test) => {
  test.equal(
    problemOf(() => keys.seal(NAME, Buffer.alloc(VALUE_BYTES_MAX + 1))),
    'TOO_LARGE',
  )
  const largest = keys.seal(NAME, Buffer.alloc(VALUE_BYTES_MAX), { deflate: true })
  test.ok(largest.length < 20_000)
  test.equal(keys.open(NAME, largest).length, VALUE_BYTES_MAX)
})

t.test('a value that does not inflate, or too far, is refused although it is authentic', async (test) => {
  const stored = newClusterKey()
  const held = new ClusterKeys(CLUSTER, [stored])
  const sealedBy = (text: Uint8Array) => {
    const head = Buffer.from(`0101${stored.keyId}`, 'hex')
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', Buffer.from(stored.key, 'base64url'), nonce)
    cipher.setAAD(lengthPrefixed(['fulcrum cluster value', CLUSTER, NAME, head]))
    return Buffer.concat([head, nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()])
  }
  test.equal(held.open(NAME, sealedBy(deflateRawSync(Buffer.from('right')))).toString(), 'right')
  test.equal(
    problemOf(() => held.open(NAME, sealedBy(Buffer.from('junk')))),
    'INFLATE',
  )
  const bomb = deflateRawSync(Buffer.alloc(VALUE_BYTES_MAX + 1))
  test.equal(
    problemOf(() => held.open(NAME, sealedBy(bomb))),
    'INFLATE',
  )
})

t.test('an incompressible value is stored as it is', async (test) => {
  const value = randomBytes(1000)
  const sealed = keys.seal(NAME, value, { deflate: true })
  test.equal(sealed.length, 38 + value.length)
  test.same(keys.open(NAME, sealed), value)
})

t.test('keys and values are in no error and in nothing that is printed', async (test) => {
  const [stored] = keys.stored()
  const secret = stored?.key ?? ''
  const printed = [JSON.stringify(keys), inspect(keys, { depth: 9, showHidden: true })]
  const sealed = keys.seal(NAME, Buffer.from('plaintext'))
  sealed[30] = (sealed[30] ?? 0) ^ 1
  try {
    keys.open(NAME, sealed)
    test.fail('it opened')
  } catch (error) {
    test.match(error, { name: 'SealingError', code: 'NOT_AUTHENTIC', place: NAME, cause: undefined })
    printed.push(inspect(error, { depth: 9, showHidden: true }), JSON.stringify(error))
  }
  test.match(secret, /^[\w-]{43}$/)
  const bytes = Buffer.from(secret, 'base64url').toString('hex').slice(0, 16)
  for (const text of printed) {
    for (const one of [secret, bytes, 'plaintext']) test.notOk(text.includes(one))
  }
})

t.test('invalid keys are refused', async (test) => {
  const key = newClusterKey()
  test.not(key.key, newClusterKey().key)
  const refused = [
    { ...key, keyId: 'A'.repeat(16) },
    { ...key, keyId: '00' },
    { ...key, key: key.key.slice(2) },
    { ...key, seals: -1 },
    { ...key, seals: Number.NaN },
  ]
  for (const each of refused) {
    test.throws(() => new ClusterKeys(CLUSTER, [each]), TypeError)
    test.notOk(problemMessage(() => new ClusterKeys(CLUSTER, [each])).includes(each.key))
  }
  test.throws(() => new ClusterKeys(CLUSTER, [key, key]), TypeError, 'twice')
})

function problemMessage(make: () => unknown): string {
  try {
    make()
    return ''
  } catch (error) {
    return String(error)
  }
}

t.test('a held key opens, and seals when it is used', (test) => {
  const [first, second] = [newClusterKey(), newClusterKey()]
  const held = new ClusterKeys(CLUSTER, [first])
  const young = new ClusterKeys(CLUSTER, [second]).seal(NAME, Buffer.from('young'))
  test.throws(() => held.use(second.keyId), RangeError)
  held.hold(second)
  held.hold({ ...second, seals: 7 })
  test.equal(held.open(NAME, young).toString(), 'young')
  test.equal(held.newestKeyId, first.keyId)
  held.use(second.keyId)
  test.equal(keyIdOf(held.seal(NAME, Buffer.from('x'))), second.keyId)
  held.use(first.keyId)
  test.same(
    held.stored().map(({ keyId }) => keyId),
    [second.keyId, first.keyId],
    'the sealing key is last',
  )
  test.same([held.has(second.keyId), held.has('00')], [true, false])
  test.end()
})
