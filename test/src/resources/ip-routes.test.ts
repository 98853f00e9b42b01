import t from 'tap'
import { ETH0, ETH1 } from '../../fixtures/appliance.ts'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

async function fixture() {
  const made = await borrow()
  const { call, node } = made
  const path = `/${node}/routes`
  const create = (body: Record<string, unknown>) => call('POST', path, { body: { name: 'r', ...body } })
  const created = async (body: Record<string, unknown>) => String((await create(body)).json.data.id)
  const read = async (id: string) => (await call('GET', `${path}/${id}`)).json.data
  return { ...made, path, create, created, read }
}
const fields = (answer: { json: { errors?: { field: string }[] } }) => answer.json.errors?.map(({ field }) => field)

const EMPTY = { destination: '', source: '', viaIp: '', interface: '', metric: null, enabled: true }

t.test('each type of route is created, listed and read', async (test) => {
  const { create, read, call, path } = await fixture()
  const sent = [
    { name: 'out', type: 'default', viaIp: '192.0.2.1', metric: 10 },
    { name: 'out6', type: 'default', viaIp: 'fe80::1', interface: ETH0 },
    { name: 'office', type: 'static', destination: '198.51.100.0/24', viaIp: '192.0.2.2' },
    { name: 'near', type: 'static', destination: '203.0.113.9', interface: ETH1, enabled: false },
    { name: 'by source', type: 'policy', source: '192.0.2.10/32', viaIp: '192.0.2.3', interface: ETH0 },
    { name: 'both', type: 'policy', source: '192.0.2.0/24', destination: '198.51.100.0/24', viaIp: '192.0.2.3' },
    { name: 'nowhere', type: 'blackhole', destination: '2001:db8:9::/48', metric: 0 },
  ]
  for (const body of sent) {
    const answer = await create(body)
    test.equal(answer.status, 201, answer.text)
    const { id } = answer.json.data
    test.same(await read(id), { id, ...EMPTY, ...body })
  }
  test.same(
    (await call('GET', path)).json.data.map(({ name }: { name: string }) => name),
    sent.map(({ name }) => name),
  )
})

t.test('an interface is sent by id or by name and stored by id; an unknown one is refused', async (test) => {
  const { create, created, read } = await fixture()
  for (const named of ['eth1', { name: 'eth1' }]) {
    const id = await created({ name: JSON.stringify(named), type: 'default', interface: named })
    test.equal((await read(id)).interface, ETH1)
  }
  for (const named of ['eth9', { name: 'eth9' }, { name: ETH1 }]) {
    const refused = await create({ name: 'x', type: 'default', interface: named })
    test.match(refused.json, { code: 'INVALID_BODY', errors: [{ field: 'interface' }] })
  }
})

t.test('PUT keeps omitted fields; another type may require clearing a field, with null', async (test) => {
  const { created, read, call, path } = await fixture()
  const id = await created({ type: 'default', viaIp: '192.0.2.1', metric: 5, enabled: false })
  const put = (body: object) => call('PUT', `${path}/${id}`, { body: { name: 'r', ...body } })
  const next = { type: 'static', destination: '198.51.100.0/24', interface: 'eth0' }
  const answer = await put(next)
  test.same([answer.status, answer.json.data], [200, undefined])
  const stored = { id, ...EMPTY, name: 'r', ...next, viaIp: '192.0.2.1', metric: 5, enabled: false, interface: ETH0 }
  test.same(await read(id), stored)
  test.match((await put({ type: 'default' })).json, { code: 'INVALID_BODY', errors: [{ field: 'destination' }] })
  test.equal((await put({ type: 'default', destination: null, metric: null, interface: null })).status, 200)
  test.same(await read(id), { ...stored, type: 'default', destination: '', metric: null, interface: '' })
})

t.test('DELETE removes a route', async (test) => {
  const { created, call, path } = await fixture()
  const id = await created({ type: 'blackhole', destination: '198.51.100.0/24' })
  test.equal((await call('DELETE', `${path}/${id}`)).status, 200)
  test.equal((await call('GET', `${path}/${id}`)).status, 404)
})

t.test('fields that contradict its type are refused', async (test) => {
  const { create } = await fixture()
  for (const [rule, body, wrong] of [
    ['a default has no destination', { type: 'default', viaIp: '192.0.2.1', destination: '10.0.0.0/8' }, 'destination'],
    ['a default has no source', { type: 'default', viaIp: '192.0.2.1', source: '10.0.0.0/8' }, 'source'],
    ['a default needs viaIp or interface', { type: 'default' }, 'viaIp'],
    ['a static route needs a destination', { type: 'static', viaIp: '192.0.2.1' }, 'destination'],
    ['a static route needs viaIp or interface', { type: 'static', destination: '10.0.0.0/8' }, 'viaIp'],
    [
      'a static route has no source',
      { type: 'static', destination: '10.0.0.0/8', source: '10.1.0.0/16', viaIp: '10.2.0.1' },
      'source',
    ],
    ['a policy route needs a source', { type: 'policy', viaIp: '192.0.2.1' }, 'source'],
    ['a policy route needs viaIp or interface', { type: 'policy', source: '10.0.0.0/8' }, 'viaIp'],
    ['a blackhole needs a destination', { type: 'blackhole' }, 'destination'],
    ['a blackhole has no viaIp', { type: 'blackhole', destination: '10.0.0.0/8', viaIp: '192.0.2.1' }, 'viaIp'],
    ['a blackhole has no interface', { type: 'blackhole', destination: '10.0.0.0/8', interface: 'eth0' }, 'interface'],
    ['a blackhole has no source', { type: 'blackhole', destination: '10.0.0.0/8', source: '10.0.0.0/9' }, 'source'],
    ['a destination is a network', { type: 'static', destination: 'office', viaIp: '192.0.2.1' }, 'destination'],
    ['a network has no bits behind its prefix', { type: 'blackhole', destination: '10.0.0.1/8' }, 'destination'],
    ['a next hop is an address', { type: 'default', viaIp: 'router' }, 'viaIp'],
    ['a next hop is no loopback address', { type: 'default', viaIp: '127.0.0.1' }, 'viaIp'],
    [
      'a next hop has the family of its destination',
      { type: 'static', destination: '10.0.0.0/8', viaIp: '2001:db8::1' },
      'viaIp',
    ],
    [
      'source and destination have one family',
      { type: 'policy', source: '2001:db8::/32', destination: '10.0.0.0/8', interface: 'eth0' },
      'source',
    ],
    ['a link-local next hop needs an interface', { type: 'default', viaIp: 'fe80::1' }, 'interface'],
    ['a metric is 0 to 4294967295', { type: 'default', viaIp: '192.0.2.1', metric: 4_294_967_296 }, 'metric'],
    ['a type is one of four', { type: 'unicast', viaIp: '192.0.2.1' }, 'type'],
  ] as const) {
    await test.test(`INVALID_BODY: ${rule}`, async (one) => {
      const answer = await create(body)
      one.equal(answer.json.code, 'INVALID_BODY', answer.text)
      one.same(fields(answer), [wrong])
    })
  }
})

t.test('INVALID_BODY: empty strings count as absent, and all problems are named at once', async (test) => {
  const { create, call, path } = await fixture()
  const answer = await create({ type: 'static', destination: '', source: '10.0.0.1/8', viaIp: '', interface: 'eth9' })
  test.same(fields(answer), ['destination', 'source', 'source', 'interface'])
  test.same((await call('GET', path)).json.data, [])
})

t.test(
  'INVALID_BODY: a violation of the schema hides nothing else, and its dependent fields are not missed',
  async (test) => {
    const { call, path } = await fixture()
    const problems = async (body: object) => fields(await call('POST', path, { body }))?.toSorted()
    const static4 = { type: 'static', viaIp: '192.0.2.2' }
    test.same(await problems({ ...static4, destination: '10.0.0.1/24' }), ['destination', 'name'])
    test.same(await problems({ ...static4, destination: 7, name: 'r' }), ['destination'])
    test.same(
      await problems({ type: 'nonesuch', destination: '10.0.0.1/24' }),
      ['name', 'type'],
      'unknown without a type',
    )
  },
)

t.test('names are unique', async (test) => {
  const { create } = await fixture()
  const body = { type: 'blackhole', destination: '10.0.0.0/8' }
  await create(body)
  test.match((await create({ ...body, name: 'R' })).json, { code: 'NAME_NOT_UNIQUE', errors: [{ field: 'name' }] })
})

t.test('CONFIG_INVALID: apply refuses two default routes with one metric, and names the second', async (test) => {
  const { created, call, machine } = await fixture()
  await created({ name: 'one', type: 'default', viaIp: '192.0.2.1' })
  const id = await created({ name: 'two', type: 'default', viaIp: '192.0.2.2' })
  const answer = await call('PUT', '/services/apply')
  test.match(answer.json, { code: 'CONFIG_INVALID' })
  test.match(answer.text, /route two is the default route with the same metric as route one/)
  test.match(answer.text, new RegExp(id))
  test.same(machine.host.journal, [])
})
