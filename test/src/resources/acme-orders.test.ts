import t from 'tap'
import type { AcmeStep, AcmeStepped } from '../../../src/model/acme.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'
import type { Caller } from '../../fixtures/appliance.ts'
import { until } from '../../fixtures/until.ts'
import { ownAppliance, sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)
const PATH = '/certificates/acme/orders'
const NAMES = ['www.site.test', 'site.test']
const FRONTEND = { name: 'plain', mode: 'http', ip: '127.0.0.1', ports: '80' }

const made = async (call: Caller, path: string, body: object) => {
  const answer = await call('POST', path, { body })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json.data
}
const account = async (call: Caller, more: object = {}) => {
  const body = { name: 'ca', directoryUrl: 'https://ca.test/directory', termsAgreed: true, ...more }
  return String((await made(call, '/certificates/acme/accounts', body)).id)
}

t.test('an order creates a certificate that frontends can present at once', async (test) => {
  const { call } = await borrow()
  const accountId = await account(call)
  await made(call, '/layer7proxy/frontends', FRONTEND)
  const { id, certificateId } = await made(call, PATH, { name: 'site', accountId, names: NAMES })
  const certificate = (await call('GET', `/certificates/certs/${certificateId}`)).json.data
  test.match(certificate, { name: 'site', certInfo: { commonName: 'www.site.test', subjectAlt: NAMES } })
  const tls = { ...FRONTEND, name: 'tls', ports: '443', certificates: [certificateId] }
  await made(call, '/layer7proxy/frontends', tls)
  const read = (await call('GET', `${PATH}/${id}`)).json.data
  const nothing = { failures: 0, lastError: null, nextTry: null, nextRenewal: null, issuedAt: null }
  const order = { name: 'site', accountId, names: NAMES, challenge: 'http-01', keyType: 'ec256', certificateId }
  test.same(read, { id, ...order, leftRecords: [], state: 'pending', ...nothing })
  test.same((await call('GET', PATH)).json.data, [read])
  const refused = await call('DELETE', `/certificates/certs/${certificateId}`)
  test.match(refused.json, { code: 'IN_USE', message: /site/ }, 'what is renewed stays')
  test.match((await call('PUT', `${PATH}/${id}/renew`)).json, { code: 'NOT_FOUND', message: /no applied ACME order/ })
  test.same((await call('DELETE', `${PATH}/${id}`)).json.data, [])
  test.equal((await call('GET', `/certificates/certs/${certificateId}`)).status, 200, 'its certificate stays')
})

t.test('names without a validation, or of another order, are refused by name', async (test) => {
  const { call } = await borrow()
  const accountId = await account(call)
  const body = { name: 'site', accountId, names: NAMES }
  const unanswered = await call('POST', PATH, { body })
  test.match(unanswered.json, {
    code: 'INVALID_BODY',
    errors: [{ field: 'challenge', message: /port 80 without TLS/ }],
  })
  test.same((await call('GET', '/certificates/certs')).json.data, [], 'nothing is left behind')
  await made(call, '/layer7proxy/frontends', FRONTEND)
  const { certificateId } = await made(call, PATH, body)
  const other = await account(call, { name: 'another' })
  const cases: readonly (readonly [object, string])[] = [
    [{ certificateId }, 'certificateId'],
    [{ certificateId: 'none' }, 'certificateId'],
    [{ accountId: 'none' }, 'accountId'],
    [{ accountId: other, names: ['x.test', 'site.test'] }, 'names.1'],
    [{ names: ['UPPER.test'] }, 'names.0'],
    [{ names: [] }, 'names'],
    [{ keyType: 'dsa' }, 'keyType'],
    [{ challenge: 'dns-02' }, 'challenge'],
    [{ challenge: 'dns-01' }, 'dns'],
    [{ names: ['*.site.test'] }, 'names.0'],
    [{ secrets: { token: 'x' } }, 'secrets'],
    [{ progress: { of: '' } }, 'progress'],
  ]
  for (const [more, field] of cases) {
    const { status, json } = await call('POST', PATH, { body: { ...body, name: 'next', ...more } })
    test.match([status, json], [422, { code: 'INVALID_BODY', errors: [{ field }] }], field)
  }
  test.match((await call('POST', PATH, { body })).json, { code: 'NAME_NOT_UNIQUE' })
})

t.test('an applied order is worked on; its progress is no pending change', async (test) => {
  const { pair } = certificateMaker(test)
  const asked: AcmeStep[] = []
  const says: AcmeStepped[] = [{ is: 'failed', reason: 'rateLimited: later', retryAfter_s: 3_600, isOver: true }]
  const acme = {
    async run(_: string, step: AcmeStep) {
      asked.push(step)
      return says.shift() ?? { is: 'waiting', after_s: 1 }
    },
    close: async () => undefined,
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has one task
  const { call } = await ownAppliance(test, { machineMore: { acme: acme as never } })
  const accountId = await account(call)
  await made(call, '/layer7proxy/frontends', FRONTEND)
  const { id, certificateId } = await made(call, PATH, { name: 'site', accountId, names: NAMES })
  test.equal((await call('PUT', '/services/apply')).status, 200)
  await call('PUT', `${PATH}/${id}/renew`)
  const order = async () => (await call('GET', `${PATH}/${id}`)).json.data
  const failing = await until('the failure', order, ({ state }) => state === 'failing')
  test.match(failing, { failures: 1, lastError: 'rateLimited: later', nextTry: String, issuedAt: null })
  test.match(asked, [{ account: { id: accountId }, names: NAMES, allowsLoopback: true }])
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)

  const { cert, key } = pair({ name: 'www.site.test', names: 'DNS:www.site.test,DNS:site.test', days: 90 })
  const ordered = { is: 'ordered', orderUrl: 'https://ca.test/o', accountUrl: 'https://ca.test/a' } as const
  says.push(ordered, { is: 'keyed', privateKey: key }, { is: 'issued', chain: cert })
  test.equal((await call('PUT', `${PATH}/${id}/renew`)).status, 200)
  const valid = await until('the certificate', order, ({ state }) => state === 'valid')
  test.match(valid, { failures: 0, lastError: null, issuedAt: String, nextRenewal: String })
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)
  const certificate = await call('GET', `/certificates/certs/${certificateId}`)
  test.equal(certificate.json.data.privateKey.trim(), key.trim())
  for (const path of [PATH, '/services/pending', '/revisions', '/audit'])
    test.notMatch((await call('GET', path)).text, /PRIVATE KEY/, path)
})

t.test('the way of creating records can be changed; a secret that is sent as read stays', async (test) => {
  const { call } = await borrow()
  const accountId = await account(call)
  const script = '#!/bin/sh\n# @param {"name":"token","type":"secret","required":true}\n# @param {"name":"zone"}\n'
  const check = { name: 'records', description: '', script, services: ['dns-01'] }
  const { id: scriptId } = await made(call, '/healthchecks', check)
  const own = { name: 'all', accountId, names: ['*.site.test'], challenge: 'dns-01', secrets: { token: 'its own' } }
  const { id } = await made(call, PATH, { ...own, dns: { scriptId: { name: 'records' } } })
  const changed = async (body: object) => (await call('PUT', `${PATH}/${id}`, { body })).json
  const dns = { scriptId, parameters: { zone: 'site.test' } }
  test.match(await changed({ dns, secrets: { token: '**' } }), { status: 'success' })
  test.match((await call('GET', `${PATH}/${id}`)).json.data, { dns, secrets: { token: '**' } })
  test.match(await changed({ secrets: { token: '**', other: '**' } }), {
    code: 'PASSWORD_NOT_STORED',
    errors: [{ field: 'secrets.other' }],
  })
  test.match(await changed({ secrets: {} }), { errors: [{ field: 'secrets.token', message: /^is required/ }] })
  test.match(await changed({ dns: { scriptId: 'tcp' } }), { errors: [{ field: 'dns.scriptId' }] })
  test.match(await changed({ names: ['other.test'] }), { errors: [{ field: 'names', code: 'READ_ONLY' }] })
  const trial = { ip: '192.0.2.1', port: 53, parameters: { token: 'x' } }
  test.match((await call('POST', `/healthchecks/${scriptId}/test`, { body: trial })).json, {
    errors: [{ field: 'parameters.token', message: /^is a secret/ }],
  })
  const layer7 = { ...check, name: 'another', services: ['dns-01', 'layer-7'] }
  test.match((await call('POST', '/healthchecks', { body: layer7 })).json, {
    errors: [{ field: 'services', message: /token is a secret/ }],
  })
})
