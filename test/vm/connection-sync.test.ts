import { writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { withInterfaceNames } from '../../src/drivers/interface-names.ts'
import { keepalivedDriver } from '../../src/drivers/keepalived/driver.ts'
import { WEIGHTS_FOLDER } from '../../src/drivers/keepalived/paths.ts'
import { loadedName } from '../../src/drivers/keepalived/render.ts'
import type { IpGroup } from '../../src/model/network.ts'
import { l4Backend, l4Frontend, realServer } from '../fixtures/config.ts'
import { viewOf } from '../fixtures/view.ts'
import { until } from '../fixtures/until.ts'
import { guestObstacle, startGuest } from './guest.ts'
import { labPrograms } from './l4-lab.ts'

/** Two directors, each with its own table in the kernel, and a dedicated link between them. */

const VIP = '10.8.0.100'
const FOLDER = '/run/l4'
const PAYLOAD = '/srv/payload'
const [NODE, CLIENT, SERVER] = [`${PAYLOAD}/node`, `${PAYLOAD}/l4-client.mjs`, `${PAYLOAD}/l4-server.mjs`] as const
const NODES = ['dir1', 'dir2'] as const
const KINDS = ['synced', 'alone'] as const
type Kind = (typeof KINDS)[number]
const SYNC0 = 'card of the link'
const PATIENCE_MS = 120_000

const NETWORK = `set -e
modprobe ip_vs
mkdir -p ${FOLDER} /run/fulcrum-weights
ip link add lan type bridge
ip link set lan up
place() {
  ip netns add "$1"
  ip -n "$1" link set lo up
  ip link add "v$1" type veth peer name lan0 netns "$1"
  ip link set "v$1" master lan up
  ip netns exec "$1" sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.lan0.rp_filter=0
  ip -n "$1" link set lan0 up
  ip -n "$1" addr add "$2/24" dev lan0
}
place dir1 10.8.0.1; place dir2 10.8.0.2; place cli 10.8.0.11; place rs1 10.8.0.21; place rs2 10.8.0.22
for rs in rs1 rs2; do
  ip netns exec "$rs" sysctl -qw net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2
  ip -n "$rs" addr add ${VIP}/32 dev lo
done
ip -n dir1 link add sync0 type veth peer name sync0 netns dir2
for n in 1 2; do
  ip -n "dir$n" link set sync0 up
  ip -n "dir$n" addr add "10.7.0.$n/24" dev sync0
done
`

const group: IpGroup = {
  id: 'link',
  name: 'link',
  networkIp: '10.7.0.0',
  networkMask: 24,
  gateway: '',
  defaultGateway: false,
  assignedInterfaces: NODES.map((nodeId) => ({ nodeId, interfaceId: SYNC0 })),
}

/** The driver's configuration of a node, with the interface names of this lab. */
function configOf(nodeId: string, connectionSync: boolean): string {
  const view = viewOf({
    realServers: ['21', '22'].map((last) => realServer(`r${last}`, { ip: `10.8.0.${last}`, port: 80 })),
    l4Backends: [l4Backend('be', ['r21', 'r22'], { scheduler: 'rr' })],
    l4Frontends: [l4Frontend('fe', 'be', { ip: VIP, ports: '80', forwarding: 'gate' })],
    ipGroups: [{ ...group, connectionSync }],
  })
  const [{ content } = { content: '' }] = keepalivedDriver(nodeId).render(view)
  return withInterfaceNames(content, new Map([[SYNC0, 'sync0']]))
}

interface Held {
  readonly server: string
  readonly answered: number
  readonly ended: string
}

/** A guest with both directors; keepalived does not run yet, and neither has the address. */
async function startSite(t: Test) {
  const guest = await startGuest(async (folder) => {
    await labPrograms(folder)
    for (const node of NODES)
      for (const kind of KINDS) writeFileSync(`${folder}/${node}.${kind}.conf`, configOf(node, kind === 'synced'))
  })
  t.teardown(() => guest.stop())
  const must = async (...argv: readonly string[]) => {
    const { exitCode, stdout, stderr } = await guest.run(...argv)
    if (exitCode !== 0) throw new Error(`${argv.join(' ')}: ${stderr}${stdout}`)
    return stdout
  }
  const inside = (place: string, ...argv: readonly string[]) => must('ip', 'netns', 'exec', place, ...argv)
  const unit = (name: string, place: string, ...argv: readonly string[]) =>
    must('systemd-run', '--quiet', '--collect', `--unit=${name}`, 'ip', 'netns', 'exec', place, ...argv)
  const soon = (what: string, isSo: () => Promise<boolean>) => until(what, isSo, Boolean, PATIENCE_MS)
  await must('sh', '-c', NETWORK)
  for (const rs of ['rs1', 'rs2']) await unit(rs, rs, NODE, SERVER, rs, FOLDER, '8088', '80')
  const configure = (node: string, kind: Kind) =>
    must('cp', `${PAYLOAD}/${node}.${kind}.conf`, `${FOLDER}/${node}.conf`)
  return {
    guest,
    must,
    inside,
    soon,
    configure,
    keepalived: async (node: string, kind: Kind) => {
      await configure(node, kind)
      const files = ['--use-file', `${FOLDER}/${node}.conf`, '--pid', `${FOLDER}/${node}.pid`]
      const more = ['--checkers_pid', `${FOLDER}/${node}.checkers.pid`, '--check', '--dont-fork', '--log-console']
      await unit(`keepalived-${node}`, node, 'keepalived', ...files, ...more)
      await soon('its table', async () => (await inside(node, 'ipvsadm', '--list', '--numeric')).includes(`${VIP}:80`))
    },
    daemons: (node: string) => inside(node, 'ipvsadm', '--list', '--daemon'),
    /** Neighbours learn of it at once. */
    moveTo: async (node: string, from?: string) => {
      if (from !== undefined) await must('ip', '-n', from, 'addr', 'del', `${VIP}/32`, 'dev', 'lan0')
      await must('ip', '-n', node, 'addr', 'add', `${VIP}/32`, 'dev', 'lan0')
      await inside(node, 'arping', '-q', '-U', '-c', '2', '-I', 'lan0', VIP)
    },
    /** A connection with repeated requests; returns its outcome. */
    hold: async (name: string) => {
      const file = `${FOLDER}/${name}`
      await unit(name, 'cli', NODE, CLIENT, 'hold', VIP, '80', file, '100')
      const state = async () => {
        const { stdout } = await guest.run('cat', file)
        return (stdout === '' ? { server: '', answered: -1, ended: '' } : JSON.parse(stdout)) as Held
      }
      await soon('some answers', async () => (await state()).answered > 5)
      return state
    },
  }
}

t.setTimeout(1_200_000)

t.test('connections of Layer 4 after a failover', { skip: guestObstacle() ?? false }, async (t) => {
  const { guest, must, inside, soon, configure, keepalived, daemons, moveTo, hold } = await startSite(t)

  await t.test('every node sends to the others and listens', async (t) => {
    for (const node of NODES) {
      await keepalived(node, 'synced')
      const text = await daemons(node)
      t.match(text, /master sync daemon \(mcast=sync0, syncid=\d+/)
      t.match(text, /backup sync daemon \(mcast=sync0, syncid=\d+/)
      t.equal(new Set([...text.matchAll(/syncid=(\d+)/g)].map(([, id]) => id)).size, 1, text)
    }
  })

  await t.test('a connection survives, there and back', async (t) => {
    await moveTo('dir1')
    const state = await hold('held')
    const { server } = await state()
    const known = () => inside('dir2', 'ipvsadm', '--list', '--connection', '--numeric')
    await soon('the connection on the other node', async () => / ESTABLISHED +10\.8\.0\.11:/.test(await known()))
    for (const [from, to] of [
      ['dir1', 'dir2'],
      ['dir2', 'dir1'],
    ] as const) {
      const { answered } = await state()
      await moveTo(to, from)
      await soon(`answers through ${to}`, async () => (await state()).answered > answered + 20)
      t.match(await state(), { server, ended: '' })
    }
    await must('systemctl', 'stop', 'held')
  })

  await t.test('without synchronisation it ends', async (t) => {
    for (const node of NODES) {
      await must('systemctl', 'stop', `keepalived-${node}`)
      t.notMatch(await daemons(node), /sync daemon/, 'they end with keepalived')
      await keepalived(node, 'alone')
      t.notMatch(await daemons(node), /sync daemon/)
    }
    const state = await hold('lost')
    await moveTo('dir2', 'dir1')
    await soon('its end', async () => (await state()).ended !== '')
    t.equal((await state()).ended, 'closed')
  })

  await t.test("a reload begins it, and the driver's steps after a reload end it", async (t) => {
    /** As the driver does it: keepalived creates this file when it has read the configuration. */
    const reload = async (kind: Kind, behind: readonly (readonly string[])[] = []) => {
      const loaded = `${WEIGHTS_FOLDER}/${loadedName(configOf('dir1', kind === 'synced'))}`
      await must('rm', '-f', loaded)
      await configure('dir1', kind)
      await must('systemctl', 'kill', '--kill-whom=main', '--signal=HUP', 'keepalived-dir1')
      for (const argv of behind) await inside('dir1', ...argv)
      await soon('the reload', async () => (await guest.run('test', '-e', loaded)).exitCode === 0)
    }
    await reload('synced')
    t.match(await daemons('dir1'), /master[^]*backup/)
    await reload('alone')
    t.match(await daemons('dir1'), /master[^]*backup/, 'keepalived leaves it as it is')
    await reload('synced')
    await reload(
      'alone',
      ['master', 'backup'].map((role) => ['ipvsadm', '--stop-daemon', role]),
    )
    t.notMatch(await daemons('dir1'), /sync daemon/)
  })
})
