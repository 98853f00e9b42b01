import { createServer } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { temporaryFolder } from '../../../fixtures/folder.ts'
import { cliFixture, fulcrum } from '../../../fixtures/cli.ts'
import { httpServer } from '../../../fixtures/traffic.ts'

const fixture = cliFixture(t)

t.test('without a cluster the output says so', async (test) => {
  const { run } = await fixture(test)
  test.match(await run('cluster status'), { exit: 0, out: 'This node is not in a cluster.\n' })
  test.match(await run('cluster status --json'), { exit: 0, out: 'null\n' })
  test.match(await run('cluster leave --yes'), { exit: 1, err: /this node is not in a cluster/ })
  test.match(await run('cluster remove other --yes'), { exit: 1, err: /this node is not in a cluster/ })
  test.match(await run('cluster maintenance other on'), { exit: 1, err: /this node is not in a cluster/ })
  test.match(await run('cluster maintenance other maybe'), { exit: 1, err: /use on or off/ })
  test.match(await run('cluster form lb'), { exit: 1, err: /--address/ })
  test.match(await run('cluster join-token'), { exit: 1, err: /\([A-Z_]+\)/ })
  test.match(await run('cluster join-token --valid soon'), { exit: 1, err: /soon is not a duration/ })
})

t.test('a cluster of unknown state is not shown as one that lacks a node', async (test) => {
  const { env } = await fixture(test)
  const away = await fulcrum(['cluster', 'status'], { ...env, FULCRUM_URL: 'https://127.0.0.1:1' })
  test.match(away, { exit: 3, out: '', err: /nothing listens there/ })
  test.match(await fulcrum(['cluster', 'status'], { ...env, FULCRUM_TOKEN: 'wrong' }), { exit: 3 })
})

t.test('an invalid token is refused before any request', async (test) => {
  const { run } = await fixture(test)
  const joined = await run('cluster join - --address 127.0.0.1', { input: 'no token\n' })
  test.match(joined, { exit: 1, err: /INVALID_BODY/ })
})

t.test("'ok, changes are possible' is not shown where something other than votes is in the way", async (test) => {
  const node = { id: 'a', name: 'left', address: '192.0.2.1:9444', state: 'online', isReady: true }
  let data: object = {
    name: 'site',
    quorum: true,
    halted: null,
    witness: null,
    histories: { nodeId: 'b', since: 5, edits: { here: 1, there: 2 } },
    nodes: [{ ...node, maintenance: null, floatingIps: [] }],
  }
  const socket = join(temporaryFolder(test, 'daemon'), 'api.sock')
  const daemon = createServer((_request, response) => {
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ status: 'success', message: 'Cluster', data }))
  })
  await new Promise<void>((resolve) => void daemon.listen(socket, resolve))
  test.teardown(() => void daemon.close())
  const env = { HOME: temporaryFolder(test, 'home'), FULCRUM_URL: `unix:${socket}` }
  const told = {
    exit: 2,
    out: /^site: both nodes went on alone: nothing can be changed until you choose one: fulcrum cluster resolve NODE\n/,
  }
  test.match(await fulcrum(['cluster', 'status'], env), told)
  data = { ...data, halted: 'it differs' }
  test.match(await fulcrum(['cluster', 'status'], env), {
    exit: 2,
    out: /^site: this node no longer follows it: it differs\n/,
  })
})

t.test('of two nodes a person decides which one continues', async (test) => {
  const node = { address: '192.0.2.1:9444', isReady: null, maintenance: null, floatingIps: [] }
  const [left, right] = [
    { ...node, id: 'a', name: 'left', isSelf: true, state: 'online' },
    { ...node, id: 'b', name: 'right', isSelf: false, state: 'unreachable' },
  ]
  const data = { name: 'site', quorum: false, halted: null, histories: null, witness: null, nodes: [left, right] }
  const sent: string[] = []
  const port = await httpServer(test, (request, response) => {
    let body = ''
    request.on('data', (piece: Buffer) => (body += String(piece)))
    request.on('end', () => {
      if (request.method !== 'GET') sent.push(`${request.method} ${request.url} ${body}`)
      response.end(JSON.stringify({ status: 'success', message: 'Done', data }))
    })
  })
  const env = { HOME: temporaryFolder(test, 'home'), FULCRUM_URL: `http://127.0.0.1:${port}` }
  const run = (args: readonly string[], answers: readonly string[] = []) =>
    fulcrum(['cluster', ...args], { ...env, FULCRUM_TOKEN: 'token' }, { answers })
  const told = /^site: too few [^\n]*; if right is certainly off: fulcrum cluster takeover\n/
  test.match(await run(['status']), { exit: 2, out: told })
  test.match(await run(['takeover', 'right']), { exit: 1, err: /--reason/ })
  test.match(await run(['takeover', 'right', '--reason', 'x'], ['n']), { exit: 1, err: /without right[^]*nothing was/ })
  test.match(await run(['takeover', 'RIGHT', '--reason', 'its disk', '--yes']), { exit: 0, out: 'Done.\n' })
  test.match(await run(['takeover', 'b', '--reason', 'x', '--force'], ['y']), { exit: 0 })
  test.match(await run(['resolve', 'nobody', '--yes']), { exit: 1, err: /there is no node nobody/ })
  test.match(await run(['resolve', 'left'], ['y']), { exit: 0, err: /The configuration of left is kept/ })
  test.same(sent, [
    'PUT /api/v1/cluster/takeover {"partnerIsOff":"right","reason":"its disk"}',
    'PUT /api/v1/cluster/takeover {"partnerIsOff":"right","reason":"x","force":true}',
    'PUT /api/v1/cluster/resolve {"keep":"a"}',
  ])
})
