import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { assertFree, portOfAll, unused } from '../../../../src/daemon/nodes/before-start.ts'
import type { NodePlace } from '../../../../src/daemon/nodes/places.ts'
import { lockState } from '../../../../src/daemon/state-lock.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'
import { freePort } from '../../../fixtures/traffic.ts'

async function place(state = '/none', number = 1): Promise<NodePlace> {
  const listen = { host: '127.0.0.1', port: await freePort() }
  return { number, state, listen, http: undefined, metrics: undefined, peer: { ...listen, port: await freePort() } }
}

async function taken(t: Test, port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
}

t.test('a port in use is named before anything starts', async (t) => {
  const node = await place('/none', 2)
  await taken(t, node.listen.port)
  await t.rejects(assertFree([node], false), {
    message: `node 2 cannot listen on 127.0.0.1:${node.listen.port}: the address is in use or not on this machine; choose other ports with --listen and --peer`,
  })
})

t.test("etcd's ports count at the first start only: later its own may still run", async (t) => {
  const node = await place()
  // Where another program listens there already, that serves as well.
  await taken(t, node.peer.port + 1).catch(() => undefined)
  await t.rejects(assertFree([node], true), /node 1 cannot listen/)
  await t.resolves(assertFree([node], false))
})

t.test('the preferred port, or a free one', async (t) => {
  const [node, port] = [await place(), await freePort()]
  t.equal(await portOfAll([node], port), port)
  await taken(t, port)
  t.not(await portOfAll([node], port), port)
})

t.test('nodes that are still ending are waited for', async (t) => {
  const state = join(temporaryFolder(t, 'nodes'), 'node-1')
  const [node, never] = [await place(state), await place()]
  await unused([node, never], () => t.fail('there are none'))
  const lock = lockState(state)
  const waited = new Promise<void>((resolve) => {
    void unused([node, never], () => lock.release()).then(resolve)
  })
  await waited
  lockState(state).release()
})
