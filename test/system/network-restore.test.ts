import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { DesiredNetwork } from '../../src/drivers/host.ts'
import { KernelNetwork } from '../../workers/host/network/kernel-network.ts'
import { networkFile } from '../../workers/host/network/memory.ts'
import { restoreNetwork } from '../../workers/host/network/restore.ts'
import { readInterfaces } from '../../workers/probe/interfaces.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { cable, kernelText, type Namespace, namespace, namespaceObstacle } from './network-namespace.ts'

/** The start of a machine: a fresh kernel, and the state folder of the previous one. */

const obstacle = await namespaceObstacle()
const skip = obstacle ?? false
const PROGRAM = fileURLToPath(new URL('../../workers/restore-network.ts', import.meta.url))
const TIMEOUT_MS = 120_000
t.setTimeout(1_800_000)

const restore = (node: Namespace, state: string) =>
  node.run([process.execPath, '--disable-warning=ExperimentalWarning', PROGRAM, state], TIMEOUT_MS)

async function wantedOn(node: Namespace): Promise<DesiredNetwork> {
  const [eth0] = await readInterfaces(node.run)
  const interfaceId = eth0?.id ?? ''
  const address = { prefix: 24, interfaceId, pingCheck: true, gateway: '10.0.0.1' }
  const route = { type: 'unicast', interfaceId: undefined, metric: undefined, table: 254 } as const
  return {
    addresses: [
      { ...address, ip: '10.0.0.5' },
      { ...address, ip: '10.0.0.6' },
      { ...address, ip: '2001:db8::5', prefix: 64, gateway: undefined },
    ],
    routes: [
      { ...route, destination: '0.0.0.0/0', via: '10.0.0.1' },
      { ...route, destination: '10.9.0.0/16', via: undefined, type: 'blackhole' },
      { ...route, destination: '::/0', via: 'fe80::1', interfaceId },
      { ...route, destination: '0.0.0.0/0', via: '10.0.0.2', table: 12_345 },
    ],
    rules: [{ priority: 10_001, from: '10.0.0.6/32', to: undefined, table: 12_345, suppressPrefixLength: undefined }],
  }
}

t.test('a fresh kernel gets the network of the previous one', { skip }, async (test) => {
  const [before, after, router] = [await namespace(test), await namespace(test), await namespace(test)]
  await cable(before, 'eth0', router, 'r0', 1)
  const state = temporaryFolder(test, 'restore')
  mkdirSync(join(state, 'machine'))
  const network = new KernelNetwork(networkFile(join(state, 'machine')), before.run)
  const desired = await wantedOn(before)
  test.match(
    await network.make(
      { ...desired, addresses: desired.addresses.map((one) => ({ ...one, pingCheck: false })) },
      'settle',
      TIMEOUT_MS,
    ),
    { exitCode: 0 },
  )
  const wanted = await kernelText(before)
  await before.ip('link del eth0')
  await cable(after, 'eth0', router, 'r0', 1)
  const restored = await restore(after, state)
  test.same(restored, { exitCode: 0, output: 'restored 3 addresses, 4 routes and 1 rules' })
  test.same(await kernelText(after), wanted)
  test.same(await restore(after, state), restored, 'and again')
  test.same(await kernelText(after), wanted)
})

t.test('a late interface is waited for', { skip }, async (test) => {
  const [node, router] = [await namespace(test), await namespace(test)]
  await cable(node, 'eth0', router, 'r0', 1)
  const state = temporaryFolder(test, 'restore')
  const network = new KernelNetwork(networkFile(join(state, 'machine')), node.run)
  await network.make(await wantedOn(node), 'settle', TIMEOUT_MS)
  const wanted = await kernelText(node)
  await node.ip('link del eth0')
  const restoring = restore(node, state)
  await cable(node, 'eth0', router, 'r0', 1)
  test.match(await restoring, { exitCode: 0 })
  test.same(await kernelText(node), wanted)
})

t.test(
  'an interface that never comes is named, all others are set up, and the machine starts',
  { skip },
  async (test) => {
    const [node, router] = [await namespace(test), await namespace(test)]
    await cable(node, 'eth0', router, 'r0', 1)
    const state = temporaryFolder(test, 'restore')
    const network = new KernelNetwork(networkFile(join(state, 'machine')), node.run)
    await network.make(await wantedOn(node), 'settle', TIMEOUT_MS)
    await node.ip('link del eth0')
    const said: string[] = []
    const say = (line: string) => void said.push(line)
    test.equal(await restoreNetwork({ file: networkFile(join(state, 'machine')), run: node.run, say, wait_ms: 300 }), 0)
    test.match(said[0], /this node has no interface [0-9a-f-]+: 10\.0\.0\.5 waits for it/)
    test.match(await node.output('ip', 'route', 'show'), /blackhole 10\.9\.0\.0\/16/)
  },
)
