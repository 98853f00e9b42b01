import t from 'tap'
import { stillFacts } from '../../fixtures/appliance.ts'
import { ownAppliance, sharedAppliance } from '../../fixtures/shared-appliance.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'

const borrow = sharedAppliance(t)

const PATH = '/ciphers/lists'
const CIPHERS = ['TLS_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA256']

async function fixture() {
  const made = await borrow()
  const create = (body: object) => made.call('POST', PATH, { body: { name: 'modern', ciphers: CIPHERS, ...body } })
  const created = async (body: object = {}) => String((await create(body)).json.data.cipherListID)
  return { ...made, create, created }
}

t.test('GET /ciphers returns the suites, and distinguishes those of TLS 1.3', async (test) => {
  const { call } = await fixture()
  test.same((await call('GET', '/ciphers')).json.data, {
    ciphers: [
      'TLS_AES_256_GCM_SHA384',
      'TLS_AES_128_GCM_SHA256',
      'ECDHE-ECDSA-AES128-GCM-SHA256',
      'ECDHE-RSA-AES128-GCM-SHA256',
    ],
    tls13: ['TLS_AES_256_GCM_SHA384', 'TLS_AES_128_GCM_SHA256'],
    tls12: ['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  })
})

t.test('each answer has the key that the specification gives it', async (test) => {
  const { call, create } = await fixture()
  const answer = await create({})
  test.equal(answer.status, 201)
  const id = answer.json.data.cipherListID
  const element = { id, cipherList: CIPHERS, label: 'modern' }
  test.same((await call('GET', PATH)).json.data, { ciphersLists: [element] })
  test.same((await call('GET', `${PATH}/${id}`)).json.data, { CiphersList: element })
  const changed = { id, cipherList: CIPHERS.toReversed(), label: 'other' }
  const body = { name: 'other', ciphers: CIPHERS.toReversed() }
  test.same((await call('PUT', `${PATH}/${id}`, { body })).json.data, { userCipherList: changed })
  test.same(
    (await call('PUT', `${PATH}/${id}`, { body: { name: 'x' } })).json.data.userCipherList.cipherList,
    body.ciphers,
  )
  test.same((await call('DELETE', `${PATH}/${id}`)).json.data, [])
  test.same((await call('GET', PATH)).json.data, { ciphersLists: [] })
})

t.test("names that HAProxy's OpenSSL does not know are refused by index, and so are repeated ones", async (test) => {
  const { call, create, created } = await fixture()
  const ciphers = ['TLS_AES_128_GCM_SHA256', 'ALL:!aNULL', 'TLS_AES_128_GCM_SHA256', 'RC4-MD5\n']
  const answer = await create({ ciphers })
  const errors = [{ field: 'ciphers.1' }, { field: 'ciphers.2', message: /already/ }, { field: 'ciphers.3' }]
  test.match(answer.json, { code: 'INVALID_BODY', errors })
  const id = await created()
  test.match((await call('PUT', `${PATH}/${id}`, { body: { ciphers } })).json, { errors })
  test.match((await create({ ciphers: [] })).json, { code: 'INVALID_BODY', errors: [{ field: 'ciphers' }] })
})

t.test('NAME_NOT_UNIQUE: on creation and change', async (test) => {
  const { call, create, created } = await fixture()
  await created()
  test.match((await create({ name: 'MODERN' })).json, { code: 'NAME_NOT_UNIQUE' })
  const id = await created({ name: 'other' })
  test.match((await call('PUT', `${PATH}/${id}`, { body: { name: 'Modern' } })).json, { code: 'NAME_NOT_UNIQUE' })
})

t.test('IN_USE while a frontend refers to it', async (test) => {
  const { call, created } = await fixture()
  const cipherListId = await created()
  const body = { name: 'f', mode: 'http', ip: '127.0.0.1', ports: '80', cipherListId }
  const { id } = (await call('POST', '/layer7proxy/frontends', { body })).json.data
  test.match((await call('DELETE', `${PATH}/${cipherListId}`)).json, {
    code: 'IN_USE',
    data: { usage: [{ resource: 'l7Frontends', id, field: 'cipherListId' }] },
  })
})

t.test('CONFIG_INVALID: a list that leaves a frontend without a handshake', async (test) => {
  const { pair } = certificateMaker(test)
  const { cert, key } = pair({ name: 'x.test' })
  const { call, created } = await fixture()
  const certificate = (await call('POST', '/certificates/certs', { body: { name: 'c', pem: cert + key } })).json.data.id
  const cipherListId = await created({ ciphers: CIPHERS.slice(0, 1) })
  const body = { name: 'f', mode: 'http', ip: '127.0.0.1', ports: '443', certificates: [certificate], cipherListId }
  const { id } = (await call('POST', '/layer7proxy/frontends', { body })).json.data
  const refused = await call('PUT', '/services/apply')
  test.match(refused.json, { code: 'CONFIG_INVALID', message: /only suites of TLS 1\.3/ })
  await call('PUT', `/layer7proxy/frontends/${id}`, { body: { minTls: '1.3' } })
  test.equal((await call('PUT', '/services/apply')).status, 200)
})

t.test('NOT_SUPPORTED where openssl is not installed', async (test) => {
  const facts = stillFacts({ cipherSuites: async () => undefined })
  const { call } = await ownAppliance(test, { machineMore: { facts } })
  test.match((await call('GET', '/ciphers')).json, { code: 'NOT_SUPPORTED' })
  test.match((await call('POST', PATH, { body: { name: 'x', ciphers: CIPHERS } })).json, { code: 'NOT_SUPPORTED' })
})
