import t from 'tap'
import { VERSION } from '../../../../src/base/version.ts'
import { newNodeRequest } from '../../../../src/cluster/authority.ts'
import { pinOf } from '../../../../src/cluster/node-certificate.ts'
import type { Application } from '../../../../src/peers/joining/protocol.ts'
import { assertFits, assertRole, readApplying } from '../../../../src/peers/joining/requirements.ts'
import { newAuthority } from '../../../fixtures/cluster-authority.ts'
import { newJoiner } from '../../../fixtures/joining.ts'

const NOW_MS = Date.UTC(2030, 0, 1)
const joiner = await newJoiner()
const application = { ...joiner.application, version: VERSION, level: 5, now_ms: NOW_MS } satisfies Application

t.test('an application is parsed, with its address and the pins of its keys', async (test) => {
  const applying = await readApplying({ ...application, records: { a: 1 }, ofALaterPatch: true })
  test.match(applying, { application: { ...application, records: { a: 1 } }, address: { host: '127.0.0.1' } })
  const { clientRequest, peerRequest } = application
  const certificate = await (await newAuthority()).issue(clientRequest, { nodeId: 'x', addresses: [] }, Date.now())
  test.equal(applying.pin, pinOf(certificate), 'that of the future certificate')
  const other = await readApplying({ ...application, peerRequest: clientRequest, clientRequest: peerRequest })
  test.not(other.keys, applying.keys)
})

t.test('an invalid application is refused', async (test) => {
  const { request } = await newNodeRequest()
  const wrong = [
    undefined,
    [],
    {},
    { ...application, name: '' },
    { ...application, name: 'x'.repeat(256) },
    { ...application, version: '1' },
    { ...application, now_ms: '1' },
    { ...application, address: '127.0.0.1' },
    { ...application, address: 'http://a:1' },
    { ...application, clientRequest: 'x' },
    { ...application, peerRequest: request.replace('M', 'N') },
    { ...application, peerRequest: 'x'.repeat(5_000) },
  ]
  for (const [at, one] of wrong.entries()) {
    await test.rejects(readApplying(one), { name: 'JoinError', code: 'INVALID_APPLICATION' }, `case ${at}`)
  }
})

t.test('versions are equal in their first two numbers, clocks within a minute', async (test) => {
  const [major = '', minor = ''] = VERSION.split('.')
  const fits = (more: Partial<Application>, now_ms = NOW_MS) =>
    assertFits({ ...application, ...more }, { level: 5, now_ms })
  fits({})
  fits({ version: `${major}.${minor}.99` }, NOW_MS + 60_000)
  fits({ version: `${major}.${minor}.99-rc.1` }, NOW_MS - 60_000)
  for (const version of [`${major}.${Number(minor) + 1}.0`, `${Number(major) + 1}.${minor}.0`]) {
    test.throws(() => fits({ version }), { code: 'OTHER_VERSION', message: version })
  }
  const skewed = (now_ms: number) => () => fits({}, now_ms)
  test.throws(skewed(NOW_MS + 60_001), { code: 'CLOCK_SKEW', message: /60 s behind that of the cluster/ })
  test.throws(skewed(NOW_MS - 3_600_000), { code: 'CLOCK_SKEW', message: /3600 s ahead of that of the cluster/ })
})

t.test('a node knows what the cluster stores; of a witness that is not required', async (test) => {
  const { level: _level, ...silent } = application
  const { clientRequest: _none, ...ofWitness } = silent
  const cluster = (level: number) => ({ level, now_ms: NOW_MS })
  assertFits({ ...application, level: 6 }, cluster(5))
  assertFits(silent, cluster(1))
  assertFits(ofWitness, cluster(5))
  for (const earlier of [silent, { ...application, level: 4 }])
    test.throws(() => assertFits(earlier, cluster(5)), { code: 'OTHER_VERSION', message: /update it to the cluster/ })
})

t.test('a witness requests no client certificate, and a token is for the one or the other', async (test) => {
  const { clientRequest: _none, ...ofWitness } = application
  const { pin, keys } = await readApplying(ofWitness)
  test.equal(keys, `${pin}.${pin}`)
  assertRole(ofWitness, 'witness')
  assertRole(application, 'node')
  test.throws(() => assertRole(application, 'witness'), { code: 'OTHER_ROLE', message: /create a token for a node$/ })
  test.throws(() => assertRole(ofWitness, 'node'), { code: 'OTHER_ROLE', message: /create a token for a witness$/ })
})
