import { join } from 'node:path'
import t, { type Test } from 'tap'
import { desiredNetwork } from '../../src/drivers/iproute2/desired.ts'
import { verifyNetwork } from '../../src/drivers/iproute2/verify.ts'
import type { DesiredNetwork, NetworkPhase } from '../../src/drivers/host.ts'
import { networkOf, networkText, parseNetwork } from '../../src/base/ip-network.ts'
import type { IpGroup, IpRoute, StaticIp } from '../../src/model/network.ts'
import { KernelNetwork } from '../../workers/host/network/kernel-network.ts'
import { readInterfaces } from '../../workers/probe/interfaces.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { ipGroup, ipRoute, NODE, staticIp } from '../src/drivers/iproute2/network-records.ts'
import { viewOf } from '../fixtures/view.ts'
import { seededRandom } from '../storage/archive/reference-model.ts'
import { cable, kernelText, namespace, namespaceObstacle } from './network-namespace.ts'

/** Random changes of records, applied one by one, lead to the same network as their final state at once. */

const obstacle = await namespaceObstacle()
const skip = obstacle ?? false
const CHANGES = 30
const RUNS = Number(process.env['FULCRUM_TEST_NETWORK_RUNS'] ?? 1)
const FIRST_SEED = Number(process.env['FULCRUM_TEST_NETWORK_SEED'] ?? 1)
const TIMEOUT_MS = 120_000
t.setTimeout(600_000 * (RUNS + 1))

/** A node with two interfaces on which others already have addresses and a default route. */
async function kernel(test: Test, label: string) {
  const [node, router] = [await namespace(test, label), await namespace(test, 'router')]
  await cable(node, 'eth0', router, 'r0', 1)
  await cable(node, 'eth1', router, 'r1', 2)
  await node.ip(
    'address add 10.0.0.9/24 dev eth0',
    'address add 10.2.0.9/24 dev eth1',
    'route add default via 10.0.0.1 dev eth0 proto dhcp src 10.0.0.9',
    'route add 10.20.0.0/16 via 10.2.0.1 dev eth1 proto static',
  )
  await node.ip6(
    'address add 2001:db8:2::9/64 dev eth1 nodad',
    'route add default via 2001:db8:2::1 dev eth1 metric 1024',
  )
  const network = new KernelNetwork(join(temporaryFolder(test, label), 'network.json'), node.run)
  const make = async (desired: DesiredNetwork, ...phases: readonly NetworkPhase[]) => {
    for (const phase of phases) {
      const { exitCode, output } = await network.make(desired, phase, TIMEOUT_MS)
      if (exitCode !== 0) throw new Error(output)
    }
  }
  return { node, make }
}

/** Subnets of an interface have no order; addresses of a subnet do. */
function bySubnet(text: Readonly<Record<string, readonly string[]>>) {
  const addresses = (text['addresses'] ?? []).map((entry) => {
    const parsed: { addr_info: { local: string; prefixlen: number }[] } = JSON.parse(entry)
    const subnets = new Map<string, object[]>()
    for (const address of parsed.addr_info) {
      const network = parseNetwork(`${address.local}/${address.prefixlen}`)
      const subnet = network === undefined ? '' : networkText(networkOf(network))
      subnets.set(subnet, [...(subnets.get(subnet) ?? []), address])
    }
    return { ...parsed, addr_info: [...subnets].toSorted(([a], [b]) => a.localeCompare(b)) }
  })
  return { ...text, addresses }
}

interface Records {
  readonly ipGroups: Map<string, IpGroup>
  readonly staticIps: Map<string, StaticIp>
  readonly ipRoutes: Map<string, IpRoute>
}

const INTERFACES = ['eth0', 'eth1'] as const

const SUBNETS: readonly (readonly [id: string, networkIp: string, networkMask: number, gateway: string])[] = [
  ['g0', '10.0.0.0', 24, '10.0.0.1'],
  ['g1', '10.1.0.0', 24, '10.1.0.1'],
  ['g2', '10.2.0.0', 24, ''],
  ['g6', '2001:db8::', 64, '2001:db8::1'],
  ['gx', '', 0, ''],
  ['g0', '10.0.0.0', 16, '10.0.0.2'],
  ['g0', '10.0.0.0', 25, ''],
  ['g1', '10.1.0.0', 23, ''],
  ['g2', '10.2.0.0', 24, '10.2.0.1'],
  ['g6', '2001:db8::', 48, ''],
]

/** Creates, deletes or changes one record. */
function change(records: Records, next: () => number, ids: readonly string[]): void {
  const pick = <T>(items: readonly T[]): T => {
    const item = items[Math.floor(next() * items.length)]
    if (item === undefined) throw new Error('nothing to pick')
    return item
  }
  const coin = () => next() < 0.5
  const link = () => pick(ids)
  const kind = next()
  if (kind < 0.2) {
    const [id, networkIp, networkMask, gateway] = pick(SUBNETS)
    const assignedInterfaces = next() < 0.15 ? [] : [{ nodeId: NODE, interfaceId: link() }]
    records.ipGroups.set(
      id,
      ipGroup(id, { networkIp, networkMask, gateway, defaultGateway: gateway !== '' && coin(), assignedInterfaces }),
    )
  } else if (kind < 0.65) {
    const [groupId, ip] = pick([
      ['g0', `10.0.0.${10 + Math.floor(next() * 6)}`],
      ['g1', `10.1.0.${10 + Math.floor(next() * 4)}`],
      ['g2', `10.2.0.${9 + Math.floor(next() * 4)}`],
      ['g6', `2001:db8::${10 + Math.floor(next() * 4)}`],
      ['gx', pick(['203.0.113.7', '2001:db8:77::7', '10.0.0.12'])],
    ] as const)
    const id = `s${Math.floor(next() * 8)}`
    if (next() < 0.2) records.staticIps.delete(id)
    else if ([...records.staticIps.values()].every((other) => other.ip !== ip || other.id === id)) {
      records.staticIps.set(id, staticIp(id, groupId, ip, { externalPingCheck: false }))
    }
  } else {
    const id = `r${Math.floor(next() * 7)}`
    const metric = pick([null, 0, 5])
    const fields: Partial<IpRoute> = pick([
      { type: 'default', viaIp: pick(['10.0.0.1', '10.0.0.3', '10.2.0.1', '2001:db8:2::1']), metric },
      { type: 'static', destination: '10.20.0.0/16', viaIp: pick(['10.0.0.1', '10.2.0.2']), metric },
      { type: 'static', destination: '198.51.100.0/24', interface: link(), metric },
      { type: 'static', destination: '2001:db8:20::/48', viaIp: 'fe80::1', interface: link() },
      { type: 'blackhole', destination: pick(['10.66.0.0/16', '2001:db8:66::/48', '198.51.100.0/24']), metric },
      { type: 'policy', source: pick(['10.0.0.10', '10.1.0.0/24']), viaIp: pick(['10.0.0.1', '10.2.0.1']), metric },
      { type: 'policy', source: '10.0.0.0/8', destination: '198.51.100.0/24', interface: link() },
      { type: 'policy', source: '2001:db8::/64', viaIp: 'fe80::2', interface: link() },
    ] as const)
    if (next() < 0.35) records.ipRoutes.delete(id)
    else records.ipRoutes.set(id, ipRoute(id, { ...fields, enabled: next() < 0.9 }))
  }
}

for (let run = 0; run < RUNS; run += 1) {
  const seed = FIRST_SEED + run
  t.test(`${CHANGES} changes lead to the network of their last state (seed ${seed})`, { skip }, async (test) => {
    const [walked, direct] = [await kernel(test, 'walked'), await kernel(test, 'direct')]
    const untouched = await kernelText(walked.node)
    const found = await readInterfaces(walked.node.run)
    const ids = INTERFACES.map((name) => found.find((one) => one.name === name)?.id ?? '')
    const next = seededRandom(seed)
    let records: Records = { ipGroups: new Map(), staticIps: new Map(), ipRoutes: new Map() }
    const viewFrom = ({ ipGroups, staticIps, ipRoutes }: Records) =>
      viewOf({ ipGroups: [...ipGroups.values()], staticIps: [...staticIps.values()], ipRoutes: [...ipRoutes.values()] })
    for (const [index, [id, networkIp, networkMask]] of SUBNETS.slice(0, 5).entries()) {
      const assignedInterfaces = [{ nodeId: NODE, interfaceId: ids[index % 2] ?? '' }]
      records.ipGroups.set(id, ipGroup(id, { networkIp, networkMask, assignedInterfaces }))
    }
    let applied = 0
    for (let tried = 0; applied < CHANGES && tried < CHANGES * 20; tried += 1) {
      const copy = {
        ipGroups: new Map(records.ipGroups),
        staticIps: new Map(records.staticIps),
        ipRoutes: new Map(records.ipRoutes),
      }
      change(copy, next, ids)
      const view = viewFrom(copy)
      // Refused changes are never applied.
      if (verifyNetwork(view, NODE).length > 0) continue
      const desired = desiredNetwork(view, NODE)
      if (JSON.stringify(desired) === JSON.stringify(desiredNetwork(viewFrom(records), NODE))) continue
      records = copy
      await walked.make(desired, 'add', 'settle')
      applied += 1
    }
    test.equal(applied, CHANGES)
    const last = desiredNetwork(viewFrom(records), NODE)
    test.ok(
      last.addresses.length + last.routes.length > 0,
      `${last.addresses.length} addresses, ${last.routes.length} routes`,
    )
    await direct.make(last, 'settle')
    test.same(bySubnet(await kernelText(walked.node)), bySubnet(await kernelText(direct.node)))
    const nothing = { addresses: [], routes: [], rules: [] }
    await walked.make(nothing, 'settle')
    test.same(bySubnet(await kernelText(walked.node)), bySubnet(untouched), 'and back to the original state')
  })
}
