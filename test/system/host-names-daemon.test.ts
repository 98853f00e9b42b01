import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createAppliance } from '../../src/appliance/appliance.ts'
import { silentLog } from '../../src/base/log.ts'
import { createMachine } from '../../src/machine/machine.ts'
import { ADMIN, caller, testSettings } from '../fixtures/appliance.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { until } from '../fixtures/until.ts'
import { freePort } from '../fixtures/traffic.ts'
import { askProcesses } from '../../workers/host/master.ts'
import { DnsServer } from './dns-server.ts'
import { get, origins } from './haproxy-traffic.ts'

/** Real servers with names through a whole daemon: edited, applied, followed and reported. */

const NAME = 'web.example.test'

async function daemon(test: Test) {
  const state = temporaryFolder(test, 'names')
  const dns = await DnsServer.start(test)
  const told = { nameServers: [`127.0.0.1:${dns.port}`] }
  const machine = { ...createMachine(testSettings(state)), nameServers: async () => told.nameServers }
  const appliance = await createAppliance(testSettings(state), machine, silentLog)
  test.teardown(() => appliance.close())
  await appliance.listen()
  await appliance.run()
  const token = String((await caller(appliance)('POST', '/token', { body: ADMIN })).json.data.token)
  const { stream } = await appliance.inject({
    method: 'GET',
    path: '/api/v1/events',
    query: 'kinds=realServer',
    address: '192.0.2.1',
    header: (name) => ({ authorization: `Bearer ${token}` })[name] ?? '',
    isAmbiguous: false,
    readBody: async () => undefined,
  })
  const events: string[] = []
  const stop = stream?.({ write: (text) => void events.push(String(text)), end: () => undefined })
  test.teardown(() => stop?.())
  const reloads = async () => (await askProcesses(join(state, 'haproxy', 'master.sock')))?.master.reloads
  return { dns, told, events, reloads, call: caller(appliance, token), node: appliance.nodeId }
}

t.test('a name is applied, followed, shown and reported, and changed name servers are noticed', async (test) => {
  const { dns, told, events, reloads, call, node } = await daemon(test)
  dns.names.set(NAME, ['127.0.0.2'])
  const [port, originPort] = [await freePort(), await origins(test, ['127.0.0.2', '127.0.0.3'])]
  const id = async (path: string, body: object) => (await call('POST', path, { body })).json.data.id as string
  const rip = await id('/ipvsDirector/rips', { name: 'web', ip: NAME, port: originPort })
  const defaultBackendId = await id('/layer7proxy/backends', { name: 'b', mode: 'http', reals: [{ ripId: rip }] })
  await id('/layer7proxy/frontends', {
    name: 'f',
    mode: 'http',
    ip: '127.0.0.1',
    ports: String(port),
    defaultBackendId,
  })
  const applied = await call('PUT', '/services/apply')
  test.equal(applied.status, 200, applied.text)
  const at = (ip: string) =>
    until(
      ip,
      async () => (await get(port)).body,
      (body) => body === ip,
    )
  const shown = (address: string | null) =>
    until(
      `${address} is shown`,
      async () => (await call('GET', `/${node}/layer7proxy/stats/rips/${rip}`)).json.data[0].address,
      (now) => now === address,
    )
  const isTold = (text: string) => until(text, async () => events.join('').includes(text), Boolean)
  await at('127.0.0.2')
  await shown(`127.0.0.2:${originPort}`)
  const before = await reloads()
  dns.names.set(NAME, ['127.0.0.3'])
  await at('127.0.0.3')
  await shown(`127.0.0.3:${originPort}`)
  await isTold('"host":"web.example.test","address":"127.0.0.3","before":"127.0.0.2"')
  test.equal(await reloads(), before)

  const other = await DnsServer.start(test)
  other.names.set(NAME, ['127.0.0.2'])
  told.nameServers = [`127.0.0.1:${other.port}`]
  await at('127.0.0.2')
  await isTold('"state":"resolved"')
  other.names.delete(NAME)
  await isTold('"state":"unresolved"')
  await shown(null)
  test.match((await call('GET', `/${node}/layer7proxy/stats/rips/${rip}`)).json.data[0], {
    status: 'MAINT (resolution)',
  })
})
