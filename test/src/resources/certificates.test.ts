import t from 'tap'
import { systemClock } from '../../../src/base/clock.ts'
import { ownAppliance, sharedAppliance } from '../../fixtures/shared-appliance.ts'
import { certificateMaker, type Pair } from '../../fixtures/certificate-maker.ts'

const borrow = sharedAppliance(t)

const PATH = '/certificates/certs'
const { pair, pfx } = certificateMaker(t)
const one = pair({ name: 'one.test', names: 'DNS:one.test,IP:192.0.2.1' })
const two = pair({ name: 'two.test' })

async function fixture() {
  const made = await borrow()
  const create = (body: object) => made.call('POST', PATH, { body: { name: 'www', ...body } })
  const created = async (body: object) => String((await create(body)).json.data.id)
  const change = (id: string, body: object) => made.call('PUT', `${PATH}/${id}`, { body })
  const read = async (id: string) => (await made.call('GET', `${PATH}/${id}`)).json.data
  const refusals = async (body: object) => {
    const { status, json } = await create(body)
    return [status, json.code, ...(json.errors ?? []).map(({ field }: { field: string }) => field)]
  }
  return { ...made, create, created, change, read, refusals }
}
const pem = ({ cert, key }: Pair) => ({ pem: cert + key })

t.test('a certificate in each form is stored; all fields of the specification may be sent', async (test) => {
  const { create, call } = await fixture()
  const absent = { pem: '', pfx: '', password: '', privateKey: '', cert: '', otherCerts: [], force: false }
  const forms = [pem(one), { pfx: pfx(one, 'secret'), password: 'secret' }, { cert: one.cert, privateKey: one.key }]
  for (const [index, form] of forms.entries()) {
    const { status, json } = await create({ name: `c${index}`, ...absent, ...form })
    test.match([status, json.message, json.data.id], [201, 'Certificate stored', String])
  }
  test.equal((await call('GET', PATH)).json.data.length, 3)
})

t.test('the list shows purpose and users of each, with dates with offset, and no key', async (test) => {
  const { call, created, node } = await fixture()
  const id = await created(pem(one))
  const frontend = { name: 'shop', mode: 'http', ip: '127.0.0.1', ports: '443', certificates: [id] }
  const frontendId = (await call('POST', '/layer7proxy/frontends', { body: frontend })).json.data.id
  await call('PUT', `/${node}/system/userinterface`, { body: { apiPort: 9443, SSLCertificate: id } })
  const { json, text } = await call('GET', PATH)
  test.match(json.data, [
    {
      id,
      name: 'www',
      certInfo: {
        commonName: 'one.test',
        organisation: 'Example',
        country: 'DE',
        subjectAlt: ['one.test', '192.0.2.1'],
      },
      validFrom: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/,
      validTo: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/,
    },
  ])
  test.same(json.data[0].usage, [
    {
      service: 'layer7proxy',
      serviceFullName: 'Layer 7 load balancer (HAProxy)',
      serviceId: frontendId,
      serviceLabel: 'shop',
      serviceNodeId: node,
    },
    {
      service: 'webui',
      serviceFullName: 'User interface and API',
      serviceId: null,
      serviceLabel: 'User interface and API',
      serviceNodeId: node,
    },
  ])
  test.notMatch(text, 'PRIVATE KEY')
  const refused = await call('DELETE', `${PATH}/${id}`)
  test.match(refused.json, {
    code: 'IN_USE',
    data: {
      usage: [
        { resource: 'l7Frontends', id: frontendId },
        { resource: 'userInterfaces', id: node },
      ],
    },
  })
})

t.test('an IPv6 address of a certificate is shown, and found, as everywhere else', async (test) => {
  const { call, created } = await fixture()
  const id = await created(pem(pair({ name: 'six.test', names: 'IP:2001:db8::1' })))
  const { json } = await call('GET', `${PATH}?q=2001:db8::1`)
  test.match(json.data, [{ id, certInfo: { subjectAlt: ['2001:db8::1'] } }])
})

t.test('a certificate that an alert target presents is in use', async (test) => {
  const { call, created, node } = await fixture()
  const id = await created(pem(one))
  await call('POST', '/alerts/targets', {
    body: { name: 'collector', type: 'syslog', host: 'syslog.example.org', certificateId: id },
  })
  const { json } = await call('GET', PATH)
  const service = { service: 'webui', serviceFullName: 'User interface and API', serviceId: null }
  test.same(json.data[0].usage, [{ ...service, serviceLabel: 'alert target collector', serviceNodeId: node }])
})

t.test('reading one also returns its private key', async (test) => {
  const { created, read } = await fixture()
  const id = await created(pem(one))
  test.match(await read(id), {
    id,
    name: 'www',
    usage: [],
    privateKey: /^-----BEGIN PRIVATE KEY-----\n/,
    chain: one.cert,
    keyType: 'ec prime256v1',
  })
})

t.test('an incomplete form is refused, and nothing of it is stored', async (test) => {
  const { refusals, call } = await fixture()
  test.same(await refusals({}), [422, 'INVALID_BODY', 'pem'])
  test.same(await refusals({ pem: '', otherCerts: [] }), [422, 'INVALID_BODY', 'pem'])
  test.same(await refusals({ ...pem(one), pfx: 'AAAA' }), [422, 'INVALID_BODY', 'pfx'])
  test.same(await refusals({ cert: one.cert }), [422, 'INVALID_BODY', 'privateKey'])
  test.same((await call('GET', PATH)).json.data, [])
})

t.test('several forms are accepted when they are the same certificate and key; null counts as absent', async (test) => {
  const { refusals, call } = await fixture()
  const file = pfx(one, 'secret')
  const lines = file.replaceAll(/(.{64})/g, '$1\r\n')
  const parts = { cert: one.cert, privateKey: one.key }
  const others = { ...parts, password: 'secret' }
  test.same(await refusals({ ...pem(one), ...parts, cert: two.cert, privateKey: two.key }), [
    422,
    'INVALID_BODY',
    'cert',
  ])
  test.same(await refusals({ ...pem(two), pfx: file, ...others }), [422, 'INVALID_BODY', 'pfx', 'cert'])
  const nothing = { pfx: null, password: null, otherCerts: null, force: null }
  for (const [name, body] of Object.entries({
    every: { ...pem(one), pfx: file, ...others },
    broken: { pfx: lines, password: 'secret', pem: null, cert: null, privateKey: null },
    nulls: { ...nothing, ...pem(one) },
  })) {
    const answer = await call('POST', PATH, { body: { name, ...body } })
    test.equal(answer.status, 201, `${name}: ${answer.text}`)
  }
})

t.test('KEY_MISMATCH and PFX_PASSWORD', async (test) => {
  const { refusals } = await fixture()
  test.same(await refusals({ cert: one.cert, privateKey: two.key }), [422, 'KEY_MISMATCH', 'privateKey'])
  test.same(await refusals({ pfx: pfx(one, 'secret'), password: 'other' }), [422, 'PFX_PASSWORD', 'password'])
})

t.test('PAYLOAD_TOO_LARGE: 256 KiB', async (test) => {
  const { refusals } = await fixture()
  test.same(await refusals({ pem: one.cert + one.key + ' '.repeat(262_144) }), [413, 'PAYLOAD_TOO_LARGE', 'pem'])
})

t.test('CERTIFICATE_EXPIRED without force; with it the message says so', async (test) => {
  const late = { now_ms: () => Date.now() + 40 * 86_400_000, monotonic_ms: () => performance.now() }
  const { call } = await ownAppliance(test, { clock: { ...systemClock, ...late } })
  const body = { name: 'www', ...pem(one) }
  test.match((await call('POST', PATH, { body })).json, { code: 'CERTIFICATE_EXPIRED', errors: [{ field: 'pem' }] })
  const forced = await call('POST', PATH, { body: { ...body, force: true } })
  test.match(forced.json, { status: 'success', message: /^Certificate stored; but .*has expired/ })
})

t.test('an incomplete chain is stored, and the message says so', async (test) => {
  const { create } = await fixture()
  const leaf = pair({ name: 'leaf.test', issuer: pair({ name: 'Root', isCa: true }) })
  test.match((await create(pem(leaf))).json.message, /^Certificate stored; but the chain ends before a root/)
})

t.test('PUT replaces the content under the same id, or only the name', async (test) => {
  const { created, change, read } = await fixture()
  const id = await created(pem(one))
  const before = await read(id)
  test.match((await change(id, { name: 'renamed' })).json.data, { id })
  test.same(await read(id), { ...before, name: 'renamed' })
  await change(id, pem(two))
  test.match(await read(id), { id, name: 'renamed', certInfo: { commonName: 'two.test' } })
  test.match((await change(id, { cert: one.cert, privateKey: two.key })).json, { code: 'KEY_MISMATCH' })
  test.equal((await change('gone', pem(two))).status, 404)
  test.equal((await change(id, {})).status, 200)
})

t.test('names are unique, on creation and change', async (test) => {
  const { create, created, change } = await fixture()
  await created(pem(one))
  const id = await created({ name: 'other', ...pem(two) })
  test.match((await create(pem(two))).json, { code: 'NAME_NOT_UNIQUE', errors: [{ field: 'name' }] })
  test.match((await change(id, { name: 'WWW' })).json, { code: 'NAME_NOT_UNIQUE' })
})

t.test('an unused one is deleted; its key is in no pending change, plan or file preview', async (test) => {
  const { call, created, machine } = await fixture()
  const id = await created(pem(one))
  const frontend = { name: 'shop', mode: 'http', ip: '127.0.0.1', ports: '8443', certificates: [id] }
  const frontendId = (await call('POST', '/layer7proxy/frontends', { body: frontend })).json.data.id
  const review = await call('GET', '/services/pending?render=true')
  const body = one.key.split('\n')[1] ?? ''
  test.match(review.json.data.files, [
    { diff: /crt-list/ },
    { path: new RegExp(`${id}\\.pem$`), diff: /private key of/ },
    { path: /\.list$/ },
  ])
  test.notOk(review.text.includes(body))
  test.notMatch(review.text, 'PRIVATE KEY')
  test.equal((await call('PUT', '/services/apply')).status, 200)
  test.ok(
    machine.host.journal.some(
      (entry) => entry.verb === 'replaceFile' && entry.path.endsWith(`${id}.pem`) && entry.mode === 0o600,
    ),
  )
  await call('PUT', `${PATH}/${id}`, { body: pem(two) })
  test.match((await call('GET', '/services/pending')).json.data.changes, [
    { effect: 'runtime', services: ['layer7proxy'] },
  ])
  await call('DELETE', `/layer7proxy/frontends/${frontendId}`)
  const deleted = await call('DELETE', `${PATH}/${id}`)
  test.match([deleted.status, deleted.json.data], [200, []])
  test.equal((await call('PUT', '/services/apply')).status, 200)
  test.notMatch((await call('GET', '/audit')).text, body)
})
