import { join } from 'node:path'
import t from 'tap'
import { KernelNetwork } from '../../workers/host/network/kernel-network.ts'
import { readInterfaces } from '../../workers/probe/interfaces.ts'
import { findProgram } from '../../workers/host/programs.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { until } from '../fixtures/until.ts'
import { cable, namespace, namespaceObstacle } from './network-namespace.ts'

/** An address that another machine had a moment ago, and a router that remembers that machine. */

const obstacle =
  (await namespaceObstacle()) ?? ((await findProgram('arping')) === undefined ? 'arping is not installed' : undefined)
const TIMEOUT_MS = 60_000
/** A router that is told nothing notices the change after half a minute, or after hours. */
const TOLD_MS = 10_000

t.test(
  'a neighbour that knows an address of another machine learns the new one',
  { skip: obstacle ?? false },
  async (test) => {
    const [router, former, node] = [
      await namespace(test, 'router'),
      await namespace(test, 'former'),
      await namespace(test, 'node'),
    ]
    await router.ip(
      'link add br0 address 02:00:00:00:00:77 type bridge',
      'link set br0 up',
      'address add 10.0.0.1/24 dev br0',
    )
    await cable(former, 'eth0', router, 'p1', 1)
    const { macA } = await cable(node, 'eth0', router, 'p2', 2)
    await router.ip('link set p1 master br0', 'link set p2 master br0')
    await former.ip('address add 10.0.0.5/24 dev eth0')
    const [eth0] = await readInterfaces(node.run)
    const network = new KernelNetwork(join(temporaryFolder(test, 'network'), 'network.json'), node.run)
    const make = (...ips: readonly string[]) => {
      const addresses = ips.map((ip) => ({
        ip,
        prefix: 24,
        interfaceId: eth0?.id ?? '',
        pingCheck: false,
        gateway: '10.0.0.1',
      }))
      return network.make({ addresses, routes: [], rules: [] }, 'settle', TIMEOUT_MS)
    }
    test.match(await make('10.0.0.4'), { exitCode: 0, warnings: [] })
    await router.output('ping', '-c1', '-W5', '10.0.0.4')
    await router.output('ping', '-c1', '-W5', '10.0.0.5')
    await former.ip('link set eth0 down')

    test.match(await make('10.0.0.4', '10.0.0.5'), { exitCode: 0, warnings: [] })
    const known = () => router.output('ip', 'neigh', 'show', '10.0.0.5')
    await until('the new machine', known, (text) => text.includes(macA), TOLD_MS)
    await router.output('ping', '-c1', '-W1', '10.0.0.5')
  },
)
