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

t.test('weight and state have defaults; a change keeps what it leaves out but the port', async (test) => {
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
