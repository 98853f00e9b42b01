import t from 'tap'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'
import { isSigned, webhookReceiver } from '../../fixtures/alert-targets.ts'
import { noRsyslog, rsyslog } from '../../fixtures/rsyslog.ts'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)
const PATH = '/alerts/targets'
const MAIL = { name: 'mail', type: 'mail', host: 'mail.test', from: 'lb@corp.test', to: ['ops@corp.test'] }
const SECRETS = /s3cret|hooks-of-ours/

async function fixture() {
  const { call } = await borrow()
  const make = async (body: object) => String((await call('POST', PATH, { body })).json.data.id)
  const read = async (id: string) => (await call('GET', `${PATH}/${id}`)).json.data
  const change = (id: string, body: object) => call('PUT', `${PATH}/${id}`, { body })
  return { call, make, read, change }
}

t.test('targets of every type are created, and no answer has their secrets', async (test) => {
  const { call, make, read } = await fixture()
  const targets = [
    { ...MAIL, username: 'u', password: 's3cret' },
    {
      name: 'chat',
      type: 'webhook',
      url: 'https://chat.test/hooks-of-ours',
      secret: 's3cret',
      headers: [{ name: 'X-Key', value: 's3cret' }],
    },
    { name: 'log', type: 'syslog', host: 'log.test' },
    { name: 'nms', type: 'snmp', host: '192.0.2.7', version: '2c', community: 's3cret' },
    {
      name: 'nms 3',
      type: 'snmp',
      host: '192.0.2.7',
      username: 'u',
      authPassphrase: 's3cret-1',
      privacyPassphrase: 's3cret-2',
    },
  ]
  for (const target of targets) {
    const id = await make(target)
    const shown = await read(id)
    test.match(shown, { name: target.name, type: target.type, enabled: true })
    test.notMatch(JSON.stringify(shown), SECRETS)
    test.equal((await call('PUT', `${PATH}/${id}`, { body: shown })).status, 200, 'the record as read is sent back')
  }
  const pending = (await call('GET', '/services/pending?render=true')).text
  test.match(pending, '"password":"**"')
  test.notMatch(pending, SECRETS)
  test.equal((await call('PUT', '/services/apply')).status, 200)
  for (const path of [PATH, '/audit', '/revisions', '/events?node=', '/revisions/1/diff/2'])
    test.notMatch((await call('GET', path)).text, SECRETS, path)
})

t.test('contradictory fields are refused, each by its name', async (test) => {
  const { call } = await fixture()
  const fieldsOf = async (body: object) => {
    const { json } = await call('POST', PATH, { body })
    return (json.errors ?? []).map(({ field }: { field: string }) => field).toSorted()
  }
  test.same(await fieldsOf({ name: 'x', type: 'mail' }), ['from', 'host', 'to'])
  test.same(await fieldsOf({ ...MAIL, url: 'https://a.test/' }), ['url'])
  test.same(await fieldsOf({ ...MAIL, transport: 'tcp', username: 'u', password: 'p' }), ['password'])
  test.same(await fieldsOf({ name: 'x', type: 'webhook', url: 'http://a.test/' }), ['url'])
  test.same(await fieldsOf({ ...MAIL, to: ['a@b\r\nBcc: c@d'] }), ['to.0'])
  test.same(await fieldsOf({ ...MAIL, name: 'a\r\nb' }), ['name'])
  test.same(await fieldsOf({ ...MAIL, username: 'u', password: '**' }), ['password'])
  test.same(await fieldsOf({ name: 'x', type: 'syslog', host: 'a.test', certificateId: 'nobody' }), ['certificateId'])
  const unencrypted = { name: 'x', type: 'snmp', host: 'a.test', username: 'u', authPassphrase: 's3cret-1' }
  test.same(await fieldsOf({ ...unencrypted, privacyAlgorithm: 'aes256' }), ['privacyPassphrase'])
})

t.test('changing the address of a target requires its secrets', async (test) => {
  const { change, make, read } = await fixture()
  const id = await make({ ...MAIL, username: 'u', password: 's3cret' })
  test.match((await change(id, { host: 'evil.test' })).json, { code: 'INVALID_BODY', errors: [{ field: 'password' }] })
  test.match((await change(id, { host: 'evil.test', password: '**' })).json, { errors: [{ field: 'password' }] })
  test.match(await read(id), { host: 'mail.test' })
  test.equal((await change(id, { host: 'other.test', password: 'another' })).status, 200)
  test.equal((await change(id, { username: null, password: null })).status, 200)
  test.notMatch(await read(id), { password: String })
})

t.test('a test sends a message to a target that need not be applied, and reports how far it got', async (test) => {
  const { call, make, read } = await fixture()
  const { pair } = certificateMaker(test)
  const root = pair({ name: 'of receivers', isCa: true })
  const own = pair({ name: 'localhost', issuer: root })
  const receiver = await webhookReceiver(test, own)
  const id = await make({
    name: 'room',
    type: 'webhook',
    url: receiver.url(),
    secret: 's3cret',
    caCertificate: root.cert,
  })
  const tried = await call('POST', `${PATH}/${id}/test`)
  test.match(tried, { status: 200, json: { data: { ok: true, stage: 'send' } } })
  const [posted] = receiver.posts
  test.match(JSON.parse(posted?.body ?? ''), { phase: 'test', id: tried.json.data.messageId })
  test.ok(posted !== undefined && isSigned(posted, 's3cret'))
  await receiver.close()
  test.match((await call('POST', `${PATH}/${id}/test`)).json.data, {
    ok: false,
    stage: 'connect',
    message: /ECONNREFUSED/,
  })
  const inward = await make({ name: 'inward', type: 'webhook', url: 'https://169.254.169.254/latest' })
  test.match((await call('POST', `${PATH}/${inward}/test`)).json.data, { ok: false, stage: 'resolve' })
  test.match(await call('POST', `${PATH}/nobody/test`), { status: 404 })
  test.match(await read(id), { name: 'room' })
})

t.test('a test presents a client certificate that need not be applied', { skip: noRsyslog }, async (test) => {
  const { call, make } = await fixture()
  const { pair } = certificateMaker(test)
  const ca = pair({ name: 'authority', isCa: true })
  const server = await rsyslog(test, { own: pair({ name: 'localhost', issuer: ca }), ca: ca.cert, asks: true })
  const client = pair({ name: 'lb-1', issuer: ca })
  const body = { name: 'client', pem: client.cert + client.key }
  const { id: certificateId } = (await call('POST', '/certificates/certs', { body })).json.data
  const place = { host: 'localhost', port: server.port, caCertificate: ca.cert }
  const id = await make({ name: 'collector', type: 'syslog', ...place, certificateId })
  test.match((await call('POST', `${PATH}/${id}/test`)).json.data, { ok: true, stage: 'send' })
  test.match(await server.received(1), [{ msgid: 'alert' }])
})

t.test('a target in use by a rule stays; their number is limited', async (test) => {
  const { call, make } = await fixture()
  const id = await make(MAIL)
  await call('POST', '/alerts/rules', { body: { name: 'r', when: { type: 'cluster' }, targets: [{ name: 'MAIL' }] } })
  test.match(await call('DELETE', `${PATH}/${id}`), { status: 409, json: { code: 'IN_USE' } })
  for (let number = 1; number < 32; number++) await make({ ...MAIL, name: `mail ${number}` })
  test.match(await call('POST', PATH, { body: { ...MAIL, name: 'one more' } }), {
    status: 409,
    json: { code: 'LIMIT_REACHED' },
  })
})
