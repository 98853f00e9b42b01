import { createServer } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { temporaryFolder } from '../../../fixtures/folder.ts'
import { cliFixture, fulcrum } from '../../../fixtures/cli.ts'

const fixture = cliFixture(t)

t.test('without a cluster the words say so', async (test) => {
  const { run } = await fixture(test)
  test.match(await run('cluster status'), { exit: 0, out: 'This node is in no cluster.\n' })
  test.match(await run('cluster status --json'), { exit: 0, out: 'null\n' })
  test.match(await run('cluster leave --yes'), { exit: 1, err: /this node is in no cluster/ })
  test.match(await run('cluster remove other --yes'), { exit: 1, err: /this node is in no cluster/ })
  test.match(await run('cluster maintenance other on'), { exit: 1, err: /this node is in no cluster/ })
  test.match(await run('cluster maintenance other maybe'), { exit: 1, err: /say on or off/ })
  test.match(await run('cluster form lb'), { exit: 1, err: /--address/ })
  test.match(await run('cluster join-token'), { exit: 1, err: /\([A-Z_]+\)/ })
  test.match(await run('cluster join-token --valid soon'), { exit: 1, err: /soon is no duration/ })
})

t.test('a cluster of which nobody tells is no cluster that lacks a node', async (test) => {
  const { env } = await fixture(test)
  const away = await fulcrum(['cluster', 'status'], { ...env, FULCRUM_URL: 'https://127.0.0.1:1' })
  test.match(away, { exit: 3, out: '', err: /nobody listens there/ })
  test.match(await fulcrum(['cluster', 'status'], { ...env, FULCRUM_TOKEN: 'wrong' }), { exit: 3 })
})

t.test('a token that is none is refused before anything is asked', async (test) => {
  const { run } = await fixture(test)
  const joined = await run('cluster join - --address 127.0.0.1', { input: 'no token\n' })
  test.match(joined, { exit: 1, err: /INVALID_BODY/ })
})

t.test('nobody is told that changes can be made where something else than votes is in the way', async (test) => {
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
  const told = { exit: 2, out: /^site: both nodes have gone on alone: nothing can be changed until PUT/ }
  test.match(await fulcrum(['cluster', 'status'], env), told)
  data = { ...data, halted: 'it differs' }
  test.match(await fulcrum(['cluster', 'status'], env), {
    exit: 2,
    out: /^site: this node follows it .*: it differs\n/,
  })
})
