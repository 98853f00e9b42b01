import t from 'tap'
import { applianceFixture } from '../../fixtures/appliance.ts'

const OPEN_METRICS = 'application/openmetrics-text'

t.test('metrics with a token and its right, in the requested format', async (test) => {
  const { call, anonymous, login } = await applianceFixture(test)
  test.match(await anonymous('GET', '/metrics'), { status: 401 })
  const body = { email: 'm@localhost', firstname: 'M', lastname: 'M', password: 'monitoring', disabled: 'false' }
  await call('POST', '/localUsers/users', { body })
  await call('PUT', '/services/apply')
  const token = await login(body.email, body.password)
  test.match((await anonymous('GET', '/metrics', { token })).json, { code: 'PERMISSION_DENIED' })
  const plain = await call('GET', '/metrics')
  test.equal(plain.status, 200)
  test.equal(plain.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
  test.match(plain.text, /^fulcrum_revision 2$/m)
  const open = await call('GET', '/metrics', { headers: { accept: OPEN_METRICS } })
  test.equal(open.headers['content-type'], `${OPEN_METRICS}; version=1.0.0; charset=utf-8`)
  test.match(open.text, /# EOF\n$/)
})

t.test('names that are meant to break the text', async (test) => {
  const { call } = await applianceFixture(test)
  const name = String.raw`a"} 1 \ b` + ' \u202e ü'
  const body = { name, ip: '192.0.2.7', port: 80 }
  const ripId = (await call('POST', '/ipvsDirector/rips', { body })).json.data.id
  const backend = { name: String.raw`pool \"`, mode: 'http', reals: [{ ripId }] }
  test.equal((await call('POST', '/layer7proxy/backends', { body: backend })).status, 201)
  await call('PUT', '/services/apply')
  const { text } = await call('GET', '/metrics')
  const bad = text.split('\n').filter((line) => line !== '' && !LINE.test(line))
  test.same(bad, [])
})

/** A comment, or a sample in the text format. */
const LINE =
  /^(# (HELP|TYPE) fulcrum_\w+ .+|fulcrum_\w+(\{\w+="([^"\\\n]|\\["\\n])*"(,\w+="([^"\\\n]|\\["\\n])*")*\})? [0-9.]+)$/
