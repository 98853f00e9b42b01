import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ADMIN } from '../../fixtures/appliance.ts'
import { cliFixture, fulcrum } from '../../fixtures/cli.ts'
import { httpServer } from '../../fixtures/traffic.ts'

const fixture = cliFixture(t)

t.test('help, versions and unknown commands', async (test) => {
  const run = (args: string) => fulcrum(args.split(' '), { HOME: '/nonexistent' })
  test.match(await run('--version'), { exit: 0, out: /^\d+\.\d+\.\d+/ })
  test.match(await run('help'), { exit: 0, out: /Usage: fulcrum .*plan/s })
  test.match(await run('plan --help'), { exit: 0, out: /--take-over/ })
  test.match(await run('plam'), { exit: 1, err: /unknown command 'plam'[^]*Did you mean plan\?/ })
  test.match(await run('pending --frogs'), { exit: 1, err: /unknown option '--frogs'/ })
  test.match(await run('pending'), { exit: 1, err: 'fulcrum: not logged in; run fulcrum login https://HOST:9443\n' })
  test.match(await run('pending -c lb9'), { exit: 1, err: /there is no context lb9/ })
})

t.test('first mistakes get one line, and an exit code', async (test) => {
  const { run, call, url, fingerprint } = await fixture(test)
  const failed = async (env: Readonly<Record<string, string>>, why: RegExp, exit = 3) => {
    for (const [args, code] of [
      ['get services', 1],
      ['status', exit],
    ] as const) {
      const said = await run(args, { env })
      test.match(said, { exit: code, out: '', err: /^fulcrum: [^\n]+\n$/ }, args)
      test.match(said.err, why)
    }
  }
  await failed(
    { FULCRUM_URL: 'https://127.0.0.1:1' },
    /https:\/\/127\.0\.0\.1:1 cannot be reached: nothing listens there/,
  )
  await failed({ FULCRUM_URL: 'https://no-such-host.invalid' }, /the host does not exist|the name cannot be resolved/)
  await failed({ FULCRUM_URL: url.replace('https', 'ftp') }, /is not encrypted: use https:\/\/HOST:9443/)
  const another = fingerprint.replace(/^../, (first) => (first === 'FF' ? '00' : 'FF'))
  await failed({ FULCRUM_FINGERPRINT: another }, /has changed since it was accepted/)
  await failed({ FULCRUM_FINGERPRINT: '' }, /is not signed by a trusted authority/)
  await failed({ FULCRUM_TOKEN: '' }, /FULCRUM_URL is set, but FULCRUM_TOKEN is not/)
  await failed({ FULCRUM_TOKEN: 'nobodys' }, /log in \(UNAUTHENTICATED\)/)
  const { token } = (await call('POST', '/token', { body: ADMIN, token: '' })).json.data
  test.match(await run('get services', { env: { FULCRUM_TOKEN: token } }), { exit: 0 })
  test.equal((await call('DELETE', '/token', { token })).status, 200)
  await failed({ FULCRUM_TOKEN: token }, /The token has expired; log in again \(TOKEN_EXPIRED\)/)
})

t.test('a command whose output is not read completes, and ends with its own code', async (test) => {
  const { env, home } = await fixture(test)
  const file = join(home, 'lb.yaml')
  writeFileSync(file, 'version: 1\nrealServers:\n  web1: { ip: 192.0.2.1, port: 80 }\n')
  const run = async (...args: readonly string[]) => {
    const child = spawn(join(import.meta.dirname, '../../../systemd/fulcrum'), args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    child.stdout.destroy()
    const [code] = await once(child, 'close')
    return Number(code)
  }
  test.equal(await run('plan', '-f', file), 2)
  test.equal(await run('apply', '-f', file, '--yes'), 0)
  test.equal(await run('plan', '-f', file), 0)
})

/** Of a daemon that colours all its output. */
const RED = '\u001b[31m'
const CHANGE = { id: RED, op: 'update', resource: RED, resourceId: 'a', name: RED, by: RED, alsoBy: [], effect: RED }
const COUNT = { total: 1, up: 1, down: 0, drained: 0, halted: 0 }
const LAYER = { problem: RED, frontends: COUNT, backends: COUNT, reals: COUNT, traffic: {} }
const NODE = { id: 'a', nodeId: 'a', name: RED, address: RED, state: RED, isSelf: true, floatingIps: [RED] }
const SAID: Readonly<Record<string, unknown>> = {
  'GET /services/pending': {
    changes: [{ ...CHANGE, services: [RED], before: { [RED]: 1 }, after: { [RED]: RED } }],
    warnings: [{ code: RED, message: RED }],
    files: [{ path: RED, diff: `+${RED}` }],
  },
  'GET /overview': {
    version: RED,
    layer7: LAYER,
    layer4: LAYER,
    nodes: [NODE, { ...NODE, version: RED }],
    attention: [{ severity: RED, message: RED }],
    more: 0,
    apply: { state: RED, revision: 1, secondsLeft: 1 },
    pending: { count: 1, mine: 1 },
    revisions: [{ revision: 1, by: RED, at: RED }],
  },
  'GET /cluster': { name: RED, quorum: true, halted: RED, nodes: [NODE], witness: null },
  'GET /localUsers/users': [{ id: 'a', email: 'ann' }],
  'GET /revisions': [{ revision: 1, by: RED, at: RED, comment: RED, count: 1 }],
  'GET /ipvsDirector/rips': [{ id: 'a', name: RED, state: RED }],
  'GET /layer7proxy/frontends': [{ id: 'a', name: 'shop' }],
  'GET /layer7proxy/backends': [],
  'GET /services/apply': { nodes: [{ nodeId: 'n' }] },
  'GET /n/layer7proxy/stats/frontends/a/history': { start: 0, resolution: 1, metrics: [RED], series: { [RED]: [1] } },
  'POST /cluster/tokens': { token: 'token', expiresAt: RED },
  'POST /cluster/join': { name: RED, nodes: [NODE], brings: [{ resource: RED, name: RED }], reachable: true },
  'POST /config/plan': { changes: [], warnings: [{ code: RED, message: RED }] },
}

t.test('text of a daemon cannot set colours', async (test) => {
  const { run, home } = await fixture(test)
  const file = join(home, 'lb.yaml')
  writeFileSync(file, 'version: 1\n')
  const port = await httpServer(test, ({ method, url }, response) => {
    const path = url?.replace('/api/v1', '').split('?')[0]
    if (path === '/events') {
      response.setHeader('content-type', 'text/event-stream')
      response.write(`event: ${RED}\nid: ${RED}\ndata: ${JSON.stringify({ kind: RED, [RED]: RED, at: RED })}\n\n`)
      return
    }
    if (path === '/text' || path === '/backup') {
      response.end(`${RED}\n`)
      return
    }
    const data = SAID[`${method} ${path}`]
    response.statusCode = path === '/fips' ? 422 : 200
    const errors = [RED, RED].map((message) => ({ field: RED, code: RED, message }))
    response.end(
      JSON.stringify({ status: data === undefined ? 'error' : 'success', message: RED, code: RED, errors, data }),
    )
  })
  const interrupt = new AbortController()
  for (const args of [
    'pending',
    'diff',
    'status',
    'log',
    'confirm',
    'get servers',
    'get addresses',
    'get servers -o name',
    'api /text',
    'history shop --csv',
    'backup create -',
    'cluster status',
    'cluster join-token',
    'cluster join token --address lb2 --yes',
    'cluster maintenance a on',
    'user reset-code ann',
    `validate -f ${file}`,
    'events',
  ]) {
    const env = { FULCRUM_URL: `http://127.0.0.1:${port}` }
    const said = await run(args, {
      env,
      columns: 80,
      interrupted: interrupt.signal,
      said: () => args === 'events' && interrupt.abort(),
    })
    test.match(said.out + said.err, '\ufffd[31m', args)
    test.notMatch(said.out + said.err, '\u001b', args)
  }
})
