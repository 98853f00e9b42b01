import t from 'tap'
import { REMEMBERED_MS, type Resolve, Servers } from '../../../src/radius/servers.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { radiusConfig } from '../../simulators/radius-server.ts'

const host = (name: string, more: object = {}) => ({ host: name, port: null, sharedSecret: '', priority: 0, ...more })
const NAMES: Resolve = async (name) => {
  if (name === 'two.test') return ['192.0.2.1', '2001:db8::1', '192.0.2.1']
  throw new Error('ENOTFOUND')
}

async function order(servers: Servers, hosts: readonly ReturnType<typeof host>[]) {
  const turns = []
  for await (const { host: name, port, target, left } of servers.inTurn(radiusConfig(hosts))) {
    turns.push(`${name} ${port} ${target?.address ?? 'unknown'} ${left}`)
  }
  return turns
}

t.test('the lowest priority is first, equal ones in order; every address of a name', async (test) => {
  const servers = new Servers(manualClock(), NAMES)
  const hosts = [host('192.0.2.9', { priority: 5 }), host('two.test', { port: 1645 }), host('192.0.2.8')]
  test.same(await order(servers, hosts), [
    'two.test 1645 192.0.2.1 4',
    'two.test 1645 2001:db8::1 3',
    '192.0.2.8 1812 192.0.2.8 2',
    '192.0.2.9 1812 192.0.2.9 1',
  ])
})

t.test('an unknown name is reported, and the next server is asked', async (test) => {
  const servers = new Servers(manualClock(), NAMES)
  test.same(await order(servers, [host('no.test'), host('192.0.2.8')]), [
    'no.test 1812 unknown 2',
    '192.0.2.8 1812 192.0.2.8 1',
  ])
})

t.test('a silent server is asked last for a while, and first again once it answered', async (test) => {
  const clock = manualClock()
  const servers = new Servers(clock, NAMES)
  const hosts = [host('192.0.2.8'), host('192.0.2.9')]
  const first = { address: '192.0.2.8', port: 1812, secret: '' }
  test.ok(servers.note(first, false), 'a change')
  test.notOk(servers.note(first, false), 'known')
  const turned = ['192.0.2.9 1812 192.0.2.9 2', '192.0.2.8 1812 192.0.2.8 1']
  test.same(await order(servers, hosts), turned)
  test.ok(servers.note(first, true))
  test.same(
    await order(servers, hosts),
    turned.map((_, index) => `192.0.2.${8 + index} 1812 192.0.2.${8 + index} ${2 - index}`),
  )
  servers.note(first, false)
  clock.advance(REMEMBERED_MS)
  test.match((await order(servers, hosts))[0], /^192\.0\.2\.8 /)
})

t.test('the secret and the port of a server are its own, or the common ones', async (test) => {
  const servers = new Servers(manualClock(), NAMES)
  const found = []
  const hosts = [host('192.0.2.8', { sharedSecret: 'own', port: 7 }), host('192.0.2.9')]
  for await (const { target } of servers.inTurn(radiusConfig(hosts, { sharedSecret: 'common', port: 9 })))
    found.push(target)
  test.same(found, [
    { address: '192.0.2.8', port: 7, secret: 'own' },
    { address: '192.0.2.9', port: 9, secret: 'common' },
  ])
})

t.test('a name is resolved once for all, cached for a while, and keeps its old address on failure', async (test) => {
  const clock = manualClock()
  let asked = 0
  let addresses: readonly string[] | undefined = ['192.0.2.1']
  const servers = new Servers(clock, async () => {
    asked += 1
    if (addresses === undefined) throw new Error('ETIMEOUT')
    return addresses
  })
  const hosts = [host('two.test')]
  const turn = ['two.test 1812 192.0.2.1 1']
  test.same(await Promise.all([order(servers, hosts), order(servers, hosts)]), [turn, turn])
  test.equal(asked, 1)
  clock.advance(60_000)
  addresses = undefined
  for (let count = 0; count < 3; count += 1) test.same(await order(servers, hosts), turn)
  test.equal(asked, 2, 'a name that just failed causes no wait')
  clock.advance(10_000)
  addresses = ['192.0.2.2']
  test.same(await order(servers, hosts), ['two.test 1812 192.0.2.2 1'])
})
