import t from 'tap'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)
const PATH = '/layer7proxy/syslog'
const NONE = { host: '', port: 6514, transport: 'tls', caCertificate: '', certificateId: '' }

async function fixture() {
  const { call } = await borrow()
  const read = async () => (await call('GET', PATH)).json.data
  const write = (body: object) => call('PUT', PATH, { body })
  return { call, read, write }
}

t.test('there is none until one is named, and none when the name is removed', async (test) => {
  const { read, write } = await fixture()
  test.same(await read(), NONE)
  test.equal((await write(NONE)).status, 200, 'what was read is sent back')
  test.match((await write({ port: 514 })).json, { errors: [{ field: 'host', message: /is required/ }] })
  test.equal((await write({ host: 'collector.test' })).status, 200)
  test.equal((await write({ port: 514, transport: 'tcp' })).status, 200)
  test.same(await read(), { ...NONE, host: 'collector.test', port: 514, transport: 'tcp' })
  test.equal((await write({ host: null })).status, 200)
  test.same(await read(), NONE)
})

t.test('an invalid server is refused, each field by its name', async (test) => {
  const { call, read, write } = await fixture()
  const { pair } = certificateMaker(test)
  const leaf = pair({ name: 'leaf.test' })
  const refusedFields = async (body: object) =>
    ((await write(body)).json.errors ?? []).map(({ field }: { field: string }) => field)
  test.same(await refusedFields({ host: 'no host', port: 0, caCertificate: leaf.cert }), [
    'port',
    'host',
    'caCertificate',
  ])
  test.same(await refusedFields({ host: 'a.test', certificateId: 'nobody' }), ['certificateId'])
  const root = pair({ name: 'root.test', isCa: true })
  const upload = { name: 'client', cert: leaf.cert, privateKey: leaf.key }
  const { id } = (await call('POST', '/certificates/certs', { body: upload })).json.data
  const tls = { host: 'a.test', caCertificate: root.cert, certificateId: id }
  test.same(await refusedFields({ ...tls, transport: 'tcp' }), ['caCertificate', 'certificateId'])
  test.same(await read(), NONE)
  test.equal((await write(tls)).status, 200)
  test.match(await call('DELETE', `/certificates/certs/${id}`), { status: 409, json: { code: 'IN_USE' } })
  const listed = (await call('GET', `/certificates/certs/${id}`)).json.data
  test.match(listed.usage, [{ service: 'layer7proxy', serviceId: null, serviceLabel: 'syslog' }])
})

t.test('a frontend that forwards needs a server, which is then in use', async (test) => {
  const { call, read, write } = await fixture()
  const logs = { enabled: true, target: 'both', format: 'combined' }
  const frontend = { name: 'www', mode: 'http', ip: '127.0.0.1', ports: '80', logs }
  const make = (body: object) => call('POST', '/layer7proxy/frontends', { body })
  test.match((await make(frontend)).json, { code: 'INVALID_BODY', errors: [{ field: 'logs.target' }] })
  for (const logsOff of [
    { ...logs, enabled: false },
    { ...logs, format: 'off' },
    { ...logs, target: 'store' },
  ])
    test.equal((await make({ ...frontend, name: JSON.stringify(logsOff), logs: logsOff })).status, 201)
  await write({ host: 'collector.test' })
  const made = await make(frontend)
  test.equal(made.status, 201)
  test.match(await write({ host: '' }), { status: 409, json: { code: 'IN_USE' } })
  test.match(await read(), { host: 'collector.test' })
  const path = `/layer7proxy/frontends/${made.json.data.id}`
  test.equal((await call('PUT', path, { body: { logs: { ...logs, target: 'store' } } })).status, 200)
  test.equal((await write({ host: '' })).status, 200)
})
