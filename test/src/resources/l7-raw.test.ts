import t from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)
const PATH = '/layer7proxy/raw'

async function fixture() {
  const { call } = await borrow()
  const frontend = { name: 'www', mode: 'http', ip: '127.0.0.1', ports: '80' }
  const fe = String((await call('POST', '/layer7proxy/frontends', { body: frontend })).json.data.id)
  const read = async () => (await call('GET', PATH)).json.data
  const write = (body: object) => call('PUT', PATH, { body })
  return { call, fe, read, write }
}

t.test('sent lists are replaced as a whole, and the others stay', async (test) => {
  const { fe, read, write } = await fixture()
  test.same(await read(), { global: [], defaults: [], frontends: [], backends: [] })
  const lines = ['option http-buffer-request']
  test.equal((await write({ global: ['nbthread 2'], frontends: [{ id: fe, lines }] })).status, 200)
  test.equal((await write({ defaults: ['option dontlognull'], global: ['nbthread 3'] })).status, 200)
  test.same(await read(), {
    global: ['nbthread 3'],
    defaults: ['option dontlognull'],
    frontends: [{ id: fe, lines }],
    backends: [],
  })
  test.equal((await write({ global: null, frontends: [] })).status, 200)
  test.match(await read(), { global: [], defaults: ['option dontlognull'], frontends: [] })
})

t.test('a frontend with raw lines is in use, and lines need one', async (test) => {
  const { call, fe, write } = await fixture()
  await write({ frontends: [{ id: fe, lines: ['option dontlognull'] }] })
  test.match(await call('DELETE', `/layer7proxy/frontends/${fe}`), { status: 409, json: { code: 'IN_USE' } })
  const unknown = await write({ backends: [{ id: 'nobody', lines: ['option dontlognull'] }] })
  test.match([unknown.status, unknown.text], [422, /nobody/])
})

t.test('lines that leave their section are refused with their place, and nothing is stored', async (test) => {
  const { fe, read, write } = await fixture()
  const before = await read()
  test.match((await write({ global: ['nbthread 2', 'frontend x'] })).json, {
    code: 'INVALID_BODY',
    errors: [{ field: 'global.1', message: /begins a section \(frontend\)/ }],
  })
  const lines = ['option a']
  test.match(
    (
      await write({
        frontends: [
          { id: fe, lines },
          { id: fe, lines: ['listen x'] },
        ],
      })
    ).json.errors,
    [{ field: 'frontends.1.id' }, { field: 'frontends.1.lines.0' }],
  )
  test.match((await write({ defaults: ['option x\nfrontend y'] })).json.errors, [{ field: 'defaults.0' }])
  test.same(await read(), before)
})
