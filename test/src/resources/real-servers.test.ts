import t from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

const PATH = '/ipvsDirector/rips'

async function fixture() {
  const { call } = await borrow()
  const created = async (body: object) => String((await call('POST', PATH, { body })).json.data.id)
  const read = async (id: string) => (await call('GET', `${PATH}/${id}`)).json.data
  return { call, created, read }
}

t.test('"", 0 and null all mean the port the client used, on creation and change', async (test) => {
  const { call, created, read } = await fixture()
  for (const [i, port] of ['', 0, null].entries()) {
    const id = await created({ name: `r${i}`, ip: '192.0.2.1', port })
    test.equal((await read(id)).port, null, JSON.stringify(port))
    await call('PUT', `${PATH}/${id}`, { body: { port: 80 } })
    test.equal((await read(id)).port, 80)
    await call('PUT', `${PATH}/${id}`, { body: { port } })
    test.equal((await read(id)).port, null, `changed to ${JSON.stringify(port)}`)
  }
  for (const port of ['80', '0', ' ', false, -1, 65_536, 1.5]) {
    const answer = await call('POST', PATH, { body: { name: 'x', ip: '192.0.2.1', port } })
    test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field: 'port' }] }, JSON.stringify(port))
  }
})

t.test('weight and state have defaults; a change keeps omitted fields except the port', async (test) => {
  const { call, created, read } = await fixture()
  const id = await created({ name: 'web', ip: '192.0.2.1', port: 80 })
  test.same(await read(id), {
    id,
    name: 'web',
    ip: '192.0.2.1',
    port: 80,
    weight: 100,
    state: 'online',
    health: 'unknown',
  })
  await call('PUT', `${PATH}/${id}`, { body: { port: 81, weight: 0, state: 'drained' } })
  await call('PUT', `${PATH}/${id}`, { body: { port: 82 } })
  test.same(await read(id), {
    id,
    name: 'web',
    ip: '192.0.2.1',
    port: 82,
    weight: 0,
    state: 'drained',
    health: 'unknown',
  })
  const answer = await call('PUT', `${PATH}/${id}`, { body: { weight: 1 } })
  test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field: 'port', code: 'REQUIRED' }] })
})

t.test('a real server has an address or a host name, and a host name has its time of resolution', async (test) => {
  const { call, created, read } = await fixture()
  const ips = ['web.example.org', 'Web-1', 'a.b-c.d1', `${'a'.repeat(63)}.${'b'.repeat(63)}.example`, 'localhost']
  for (const [at, ip] of ips.entries()) {
    test.match(await read(await created({ name: `n${at}`, ip, port: 80 })), { ip, resolve: 'live' })
  }
  const hostile = ['', ' ', '.', 'a.', '.a', 'a..b', '-a', 'a-', '_http.web', '10.1', '1', 'web.1', '0x7f', 'web.0x1']
  hostile.push(
    'a b',
    'a#b',
    'a%[src]',
    "a'b",
    'a"b',
    'a\\b',
    'a$HOME',
    '${HOME}',
    'a\nb',
    'a\u0000b',
    'a\u2028b',
    'ä.de',
    'a:80',
  )
  hostile.push(
    'ipv4@1.2.3.4',
    'unix@/x',
    '/tmp/x',
    'fd@3',
    'a'.repeat(64),
    `${'a.'.repeat(126)}ab`,
    '*',
    'a/b',
    'a,b',
    'web.test:80',
  )
  for (const ip of hostile) {
    const answer = await call('POST', PATH, { body: { name: 'x', ip, port: 80 } })
    test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field: 'ip' }] }, encodeURIComponent(ip))
  }
  const id = await created({ name: 'web', ip: 'web.test', resolve: 'start', port: 80 })
  test.match(await read(id), { resolve: 'start' })
  await call('PUT', `${PATH}/${id}`, { body: { port: 80, resolve: null } })
  test.match(await read(id), { resolve: 'live' })
  await call('PUT', `${PATH}/${id}`, { body: { port: 80, resolve: 'start' } })
  await call('PUT', `${PATH}/${id}`, { body: { port: 80, ip: '192.0.2.9' } })
  test.notOk('resolve' in (await read(id)), 'it is removed with the name')
  const refused = await call('PUT', `${PATH}/${id}`, { body: { port: 80, resolve: 'start' } })
  test.match(refused.json, { code: 'INVALID_BODY', errors: [{ field: 'resolve' }] })
  const [found] = (await call('GET', `${PATH}?q=WEB.example`)).json.data
  test.match(found, { ip: 'web.example.org' })
})

t.test('Layer 4 accepts no real server with a host name, whichever is edited last', async (test) => {
  const { call, created, read } = await fixture()
  const BACKENDS = '/ipvsDirector/backends'
  const [named, plain] = [
    await created({ name: 'named', ip: 'web.test', port: 80 }),
    await created({ name: 'plain', ip: '192.0.2.7', port: 80 }),
  ]
  const reals = [{ ripId: plain }, { ripId: named }]
  const field = { field: 'reals.1.ripId', message: new RegExp(`real server named \\(${named}\\).*host name web.test`) }
  test.match((await call('POST', BACKENDS, { body: { name: 'b', reals } })).json, {
    code: 'INVALID_BODY',
    errors: [field],
  })
  const made = await call('POST', BACKENDS, { body: { name: 'b', reals: [{ ripId: plain }] } })
  const backend = String(made.json.data.id)
  test.match((await call('PUT', `${BACKENDS}/${backend}`, { body: { reals } })).json, { errors: [field] })
  const moved = await call('PUT', `${PATH}/${plain}`, { body: { port: 80, ip: 'web.test' } })
  const message = new RegExp(`Layer 4 backend b \\(${backend}\\)`)
  test.match(moved.json, { code: 'INVALID_BODY', errors: [{ field: 'ip', message }] })
  test.match(await read(plain), { ip: '192.0.2.7' })
})

t.test('a move changes the state only, and repeating it changes nothing', async (test) => {
  const { call, created, read } = await fixture()
  const id = await created({ name: 'web', ip: '192.0.2.1', port: 80, weight: 7 })
  await call('PUT', '/services/apply')
  for (const [verb, state] of [
    ['drain', 'drained'],
    ['halt', 'halted'],
  ] as const) {
    for (const _ of [1, 2]) test.same((await call('PUT', `${PATH}/${id}/${verb}`)).json.data, [])
    test.same(await read(id), { id, name: 'web', ip: '192.0.2.1', port: 80, weight: 7, state, health: 'unknown' })
    test.equal((await call('GET', '/services/pending')).json.data.count, 1)
  }
  await call('PUT', `${PATH}/${id}/online`)
  test.equal((await call('GET', '/services/pending')).json.data.count, 0, 'and back again is no change')
})

t.test('hanging are the ids of real servers with pending changes, deleted ones included', async (test) => {
  const { call, created } = await fixture()
  const [kept, moved, gone] = [
    await created({ name: 'kept', ip: '192.0.2.1', port: 80 }),
    await created({ name: 'moved', ip: '192.0.2.2', port: 80 }),
    await created({ name: 'gone', ip: '192.0.2.3', port: 80 }),
  ]
  await call('PUT', '/services/apply')
  test.same((await call('GET', `${PATH}/hanging`)).json.data, [])
  await call('PUT', `${PATH}/${moved}/halt`)
  await call('DELETE', `${PATH}/${gone}`)
  await call('POST', '/rbac/groups', { body: { id: kept, name: 'of another section' } })
  test.same((await call('GET', `${PATH}/hanging`)).json.data, [moved, gone])
})
