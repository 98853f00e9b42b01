import t from 'tap'
import type { Run } from '../../../../src/cli/command.ts'
import type { Connection } from '../../../../src/cli/connection.ts'
import { followed, KINDS, recordNamed } from '../../../../src/cli/commands/records.ts'
import { Unreachable } from '../../../../src/cli/unreachable.ts'
import { cliFixture } from '../../../fixtures/cli.ts'
import { httpServer } from '../../../fixtures/traffic.ts'

const fixture = cliFixture(t)

t.test('every kind is listed', async (test) => {
  const { run } = await fixture(test)
  for (const kind of Object.keys(KINDS)) test.match(await run(`get ${kind}`), { exit: 0, err: '', out: /^[A-Z]/ }, kind)
})

t.test('services and backends of both layers are one list', async (test) => {
  const { run, call } = await fixture(test)
  const make = async (path: string, body: object) => test.equal((await call('POST', path, { body })).status, 201, path)
  await make('/ipvsDirector/rips', { name: 'web1', ip: '192.0.2.1', port: 80 })
  const reals = [{ ripId: { name: 'web1' } }]
  await make('/layer7proxy/backends', { name: 'seven', mode: 'http', reals, owner: 'shop' })
  await make('/ipvsDirector/backends', { name: 'four', reals, healthCheck: { type: 'none' } })
  const ends = { ip: '192.0.2.50', ports: '80,443', enabled: false }
  const ofKernel = { protocol: 'udp', forwarding: 'masq', backendId: { name: 'four' } }
  await make('/layer7proxy/frontends', { name: 'www', mode: 'http', ip: '127.0.0.1', ports: '8095', owner: 'shop' })
  await make('/ipvsDirector/frontends', { name: 'dns', ...ends, ...ofKernel })
  const rows = async (kind: string) =>
    (await run(`get ${kind}`)).out
      .trim()
      .split('\n')
      .map((line) => line.split(/ {2,}/))
  test.same(await rows('services'), [
    ['NAME', 'LAYER', 'ADDRESS', 'PORTS', 'MODE', 'STATE', 'OWNER'],
    ['www', '7', '127.0.0.1', '8095', 'http', 'on', 'shop'],
    ['dns', '4', '192.0.2.50', '80,443', 'udp', 'off'],
  ])
  test.same(await rows('backends'), [
    ['NAME', 'LAYER', 'BALANCE', 'SERVERS', 'CHECK', 'OWNER'],
    ['seven', '7', 'roundrobin', '1', 'tcp', 'shop'],
    ['four', '4', 'wlc', '1', 'none'],
  ])
})

t.test('records are found by name, in four forms', async (test) => {
  const { run, call } = await fixture(test)
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web 1', ip: '192.0.2.1', port: 80, owner: 'shop' } })
  const [head, row] = (await run(['get', 'servers', 'WEB 1'])).out.split('\n')
  test.match(head, /^NAME +ADDRESS +PORT +WEIGHT +STATE +HEALTH +OWNER$/)
  test.match(row, /^web 1 +192\.0\.2\.1 +80 +100 +online +unknown +shop$/)
  test.match(JSON.parse((await run(['get', 'servers', 'web 1', '--json'])).out), { ip: '192.0.2.1' })
  test.match((await run(['get', 'servers', 'web 1', '-o', 'yaml'])).out, /ip: 192\.0\.2\.1\n/)
  test.match((await run('get servers -o name')).out, 'web 1\n')
  test.match(await run('get servers nope'), { exit: 1, err: /there is no nope in servers/ })
  test.match(await run('get frogs'), { exit: 1, err: /there is no kind frogs; the kinds are services/ })
  test.match(await run('get servers -o xml'), { exit: 1, err: /use table, yaml, json or name/ })
})

t.test('the holder of an address is a node by name', async (test) => {
  const held = ['n1', 'n9', null].map((holder, at) => ({ ip: `192.0.2.${at}`, enabled: true, holder }))
  const { run } = await fixture(test)
  const answers: Record<string, unknown> = { '/fips': held, '/overview': { nodes: [{ id: 'n1', name: 'lb1' }] } }
  const port = await httpServer(test, ({ url = '' }, response) => {
    const { pathname } = new URL(url, 'http://localhost')
    const data = answers[pathname.replace('/api/v1', '')]
    const refused = { code: 'PERMISSION_DENIED', message: 'no role' }
    response.writeHead(data === undefined ? 403 : 200).end(JSON.stringify(data === undefined ? refused : { data }))
  })
  const env = { FULCRUM_URL: `http://127.0.0.1:${port}` }
  const holders = async () =>
    (await run('get addresses', { env })).out.match(/(?<=on) *\S*$/gm)?.map((one) => one.trim())
  test.same(await holders(), ['lb1', 'n9', ''])
  test.match(JSON.parse((await run('get addresses --json', { env })).out), held)
  delete answers['/overview']
  test.same(await holders(), ['n1', 'n9', ''], 'a caller who may not read names')
})

t.test('several records with one name are a list, in any format', async (test) => {
  const { run, call } = await fixture(test)
  await call('POST', '/layer7proxy/backends', { body: { name: 'shop', mode: 'http' } })
  test.match(JSON.parse((await run('get backends shop --json')).out), { name: 'shop', mode: 'http' })
  await call('POST', '/ipvsDirector/backends', { body: { name: 'shop' } })
  test.match(JSON.parse((await run('get backends shop --json')).out), [{ name: 'shop' }, { name: 'shop' }])
  test.match((await run('get backends shop -o yaml')).out, /^- \w+: [^]*\n- \w+: /)
})

t.test('a real server is moved alone, whatever else is pending', async (test) => {
  const { run, call } = await fixture(test)
  for (const name of ['web1', 'web2'])
    await call('POST', '/ipvsDirector/rips', { body: { name, ip: '192.0.2.1', port: 80 } })
  await call('PUT', '/services/apply')
  const [other] = (await call('GET', '/ipvsDirector/rips?name=web2')).json.data
  await call('PUT', `/ipvsDirector/rips/${other.id}`, { body: { port: 81 } })
  const stateOf = async () => (await call('GET', '/ipvsDirector/rips?name=web1')).json.data[0]
  test.match((await run('server drain web1')).out, 'The real server web1 is drained.\n')
  test.match((await run('server drain web1')).out, 'The real server web1 is drained already.\n')
  test.match(await stateOf(), { state: 'drained' })
  test.match((await run('server halt web1 -m maintenance')).out, 'is taken out of all backends.')
  test.match((await call('GET', '/revisions?limit=1')).json.data, [{ comment: 'maintenance', count: 1 }])
  test.match((await run('server online web1 --stage')).out, 'takes traffic, once it is applied.')
  test.match((await call('GET', '/services/pending')).json.data, { count: 2 })
  const refused = 'fulcrum: something else of web1 is pending (state, by admin@localhost): apply or discard it first'
  test.match(await run('server weight web1 7'), { exit: 1, err: refused })
  test.match((await run('server online web1')).out, 'web1 takes traffic.')
  test.match((await run('server weight web1 7')).out, 'has weight 7.')
  test.match(await stateOf(), { weight: 7, port: 80 })
  test.match((await call('GET', '/services/pending')).json.data, { count: 1 }, 'staged by another user')
  test.match(await run('server weight web1 300'), { exit: 1, err: /300 is not a weight/ })
  test.match(await run('server drain web9'), { exit: 1, err: /no real server web9: fulcrum get servers/ })
  test.match(await run('server drain web1 --halt'), { exit: 1, err: /--halt needs --wait/ })
})

t.test('one of several records with a name is not guessed', async (test) => {
  const several = { list: async () => [{ id: 'a' }, { id: 'b' }] } as unknown as Connection
  const servers = { path: '/ipvsDirector/rips', what: 'real server', list: 'servers' }
  await test.rejects(recordNamed(several, servers, 'web1'), {
    message: /^several records are named web1 \(a, b\): .* PUT \/ipvsDirector\/rips\/ID$/,
  })
})

t.test('a drain with a time waits for its connections', async (test) => {
  const { run, call } = await fixture(test)
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web1', ip: '192.0.2.1', port: 80 } })
  await call('PUT', '/services/apply')
  const drained = await run('server drain web1 --wait 1m --halt')
  test.match(drained, {
    exit: 0,
    out: /web1 is drained\.\n/,
    err: /^job \S+ continues .*; cancel it with fulcrum api PUT \/jobs\/\S+\/cancel\n[^]*succeeded/,
  })
  test.match((await call('GET', '/ipvsDirector/rips?name=web1')).json.data, [{ state: 'halted' }])
  await run('server online web1')
  const told = JSON.parse((await run('server drain web1 --wait 1m --json')).out)
  test.match(told, { id: String, job: String, staged: false, changed: true }, 'once, at the end')
})

t.test('a daemon that is briefly away continues its jobs', async (test) => {
  const answers = [new Unreachable('https://lb1', new Error('away')), new Unreachable('https://lb1', new Error('away'))]
  const get = async () => {
    const error = answers.shift()
    if (error !== undefined) throw error
    return { step: '', progress: null, problem: null, state: 'succeeded' }
  }
  const said: string[] = []
  const run = { terminal: { err: (text: string) => said.push(text) } } as unknown as Run
  await followed(run, { get } as unknown as Connection, 'j1')
  test.same(said, ['https://lb1 cannot be reached: away; waiting for it\n', 'succeeded\n'])
})

t.test('a cancelled job has not completed its work', async (test) => {
  const job = { step: 'waiting', progress: null, problem: null }
  const states = ['running', 'cancelled']
  const connection = { get: async () => ({ ...job, state: states.shift() }) } as unknown as Connection
  const said: string[] = []
  const run = { terminal: { err: (text: string) => said.push(text) } } as unknown as Run
  await test.rejects(followed(run, connection, 'j1'), { name: 'Failure', message: 'the job is cancelled', exitCode: 1 })
  test.same(said, ['running: waiting\n', 'cancelled: waiting\n'])
})
