import { join } from 'node:path'
import t from 'tap'
import { desiredNetwork } from '../../src/drivers/iproute2/desired.ts'
import type { IpGroup, StaticIp } from '../../src/model/network.ts'
import { KernelNetwork } from '../../workers/host/network/kernel-network.ts'
import { readInterfaces } from '../../workers/probe/interfaces.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { viewOf } from '../fixtures/view.ts'
import { ipGroup, NODE, staticIp } from '../src/drivers/iproute2/network-records.ts'
import { cable, namespace, namespaceObstacle } from './network-namespace.ts'

/** A client with a real connection is warned of exactly the changes that would cut off its answers. */

const skip = (await namespaceObstacle()) ?? false
const TIMEOUT_MS = 120_000
const PORT = 9443
const CHILD = new URL('cut-off-child.ts', import.meta.url).pathname
t.setTimeout(1_800_000)

/** Connects again until a server listens, and stays until it is closed. */
const CLIENT = `const go = () => require('node:net').connect({ host: '10.77.0.10', port: ${PORT} })
  .on('error', () => setTimeout(go, 50)).on('connect', () => undefined)
go()`

interface Network {
  readonly ipGroups: readonly IpGroup[]
  readonly staticIps: readonly StaticIp[]
}
interface Case {
  readonly title: string
  readonly before: Network
  readonly after: Network
  readonly verdict: RegExp
  /** Whether the client still reaches the address afterwards. */
  readonly reaches: boolean
  /** The client is in 10.79.0.0/24 and not in the network of the address. */
  readonly isRouted?: true
}

const on = (interfaceId: string) => ({ assignedInterfaces: [{ nodeId: NODE, interfaceId }] })

function cases(eth0: string, eth1: string, eth2: string): readonly Case[] {
  const lan = ipGroup('lan', { ...on(eth0), networkIp: '10.77.0.0' })
  const api = staticIp('1', 'lan', '10.77.0.10', { externalPingCheck: false })
  const base = { ipGroups: [lan], staticIps: [api] }
  const second = staticIp('2', 'lan', '10.77.0.11', { externalPingCheck: false })
  const narrow = ipGroup('narrow', { ...on(eth2), networkIp: '10.77.0.192', networkMask: 26 })
  const inNarrow = staticIp('2', 'narrow', '10.77.0.193', { externalPingCheck: false })
  const far = ipGroup('far', { ...on(eth1), networkIp: '10.79.0.0' })
  const inFar = staticIp('2', 'far', '10.79.0.10', { externalPingCheck: false })
  const both = { ipGroups: [lan, far], staticIps: [api, inFar] }
  const cut = { before: base, reaches: false }
  return [
    {
      ...cut,
      title: 'a longer mask',
      after: { ...base, ipGroups: [{ ...lan, networkMask: 25 }] },
      verdict: /10\.77\.0\.0\/24/,
    },
    {
      ...cut,
      title: 'no subnet',
      after: { ...base, ipGroups: [{ ...lan, networkIp: '', networkMask: 0 }] },
      verdict: /10\.77\.0\.0\/24/,
    },
    {
      ...cut,
      title: 'a narrower network elsewhere',
      after: { ipGroups: [lan, narrow], staticIps: [api, inNarrow] },
      verdict: /10\.77\.0\.192\/26/,
    },
    {
      ...cut,
      title: 'the address that carries the answers',
      before: both,
      after: base,
      verdict: /10\.79\.0\.0\/24/,
      isRouted: true,
    },
    {
      title: 'a second address',
      before: base,
      after: { ...base, staticIps: [api, second] },
      verdict: /^nothing$/,
      reaches: true,
    },
    { title: 'another network', before: base, after: both, verdict: /^nothing$/, reaches: true },
  ]
}

t.test('a client is warned of changes that cut off its answers, and of no others', { skip }, async (test) => {
  const [node, client] = [await namespace(test, 'node'), await namespace(test, 'client')]
  const stranger = await namespace(test, 'stranger')
  await cable(node, 'eth0', client, 'c0', 1)
  await cable(node, 'eth1', client, 'c1', 2)
  await cable(node, 'eth2', stranger, 's0', 3)
  const links = new Map((await readInterfaces(node.run)).map(({ name, id }) => [name, id]))
  const network = new KernelNetwork(join(temporaryFolder(test, 'network'), 'network.json'), node.run)
  const make = async (records: Network) => {
    const result = await network.make(desiredNetwork(viewOf(records), NODE), 'settle', TIMEOUT_MS)
    test.match(result, { exitCode: 0 })
  }
  const [eth0 = '', eth1 = '', eth2 = ''] = ['eth0', 'eth1', 'eth2'].map((name) => links.get(name))
  for (const one of cases(eth0, eth1, eth2)) {
    await make(one.before)
    const [own, way] = one.isRouted
      ? ['10.79.0.200/24 dev c1', 'route replace 10.77.0.0/24 via 10.79.0.10']
      : ['10.77.0.200/24 dev c0', 'link set c0 up']
    await client.ip(`address add ${own}`, way)
    const argv = [
      process.execPath,
      CHILD,
      NODE,
      '10.77.0.10',
      String(PORT),
      JSON.stringify(one.before),
      JSON.stringify(one.after),
    ]
    const [said] = await Promise.all([
      node.run(argv, TIMEOUT_MS),
      client.run([process.execPath, '-e', CLIENT], TIMEOUT_MS),
    ])
    test.match(said.output, one.verdict, one.title)
    await make(one.after)
    const wait_s = one.reaches ? '60' : '1'
    const ping = await client.run(['ping', '-c1', '-W', wait_s, '10.77.0.10'], TIMEOUT_MS)
    test.equal(ping.exitCode === 0, one.reaches, `${one.title}: the real effect`)
    await client.ip(`address del ${own}`)
  }
})
