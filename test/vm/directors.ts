import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { Test } from 'tap'
import type { Driver } from '../../src/drivers/driver.ts'
import { withInterfaceNames } from '../../src/drivers/interface-names.ts'
import { keepalivedDriver } from '../../src/drivers/keepalived/driver.ts'
import { CONFIG_FILE, WEIGHTS_FOLDER } from '../../src/drivers/keepalived/paths.ts'
import { vrrpDriver } from '../../src/drivers/vrrp/driver.ts'
import { STATES_FOLDER } from '../../src/drivers/vrrp/paths.ts'
import type { IpGroup } from '../../src/model/network.ts'
import { l4Backend, l4Frontend, realServer } from '../fixtures/config.ts'
import { viewOf } from '../fixtures/view.ts'
import { until } from '../fixtures/until.ts'
import { type Namespace, namespace } from '../system/network-namespace.ts'
import { payloadDisk } from './guest-image.ts'
import { type Guest, startMachine } from './guest.ts'

/**
 * Two directors with their own kernels, disks, network interfaces and power: the files of the drivers, the unit of
 * floating IPs and Debian's keepalived. Networks: `lan` with the clients and a real server, `sync` between the two
 * kernels. There is no daemon and no etcd, which would take the processors from the measured programs.
 */

const NETWORKS = { lan: '10.79.0', sync: '10.77.0' } as const
type Network = keyof typeof NETWORKS
const NAMES = Object.keys(NETWORKS) as readonly Network[]
const IDS = ['lb1', 'lb2'] as const
type Id = (typeof IDS)[number]
const UNIT = new URL('../../systemd/fulcrum-vrrp.service', import.meta.url)
const MEMORY_MIB = 512
/** An emulated machine beside other work takes minutes for operations that take seconds elsewhere. */
const PATIENCE_MS = 300_000
/** Emulated machines now and then stall for longer than the resulting default of 0.6 s. */
const ADVERT_INTERVAL_S = 1
/** The last one serves HTTP. */
const PORTS = [2222, 8090, 8088] as const

export const FLOATING = `${NETWORKS.lan}.100`
export const REAL_SERVER = `${NETWORKS.lan}.21`

export interface Director {
  readonly name: Id
  readonly guest: Guest
  /** Its port in the network of the clients. */
  readonly port: string
  shell(script: string): Promise<string>
  /** Starts the serving programs, as after a boot. */
  serve(): Promise<void>
  /** Lets it have its addresses, or makes it give them away. */
  may(have: boolean): Promise<void>
  holds(): Promise<boolean>
}

export const soon = (what: string, isSo: () => Promise<boolean>) => until(what, isSo, Boolean, PATIENCE_MS)

const cardOf = (id: Id, network: Network): string => `${network} of ${id}`

const group = (name: Network, more: Partial<IpGroup>): IpGroup => ({
  id: name,
  name,
  networkIp: `${NETWORKS[name]}.0`,
  networkMask: 24,
  gateway: '',
  defaultGateway: false,
  assignedInterfaces: IDS.map((nodeId) => ({ nodeId, interfaceId: cardOf(nodeId, name) })),
  ...more,
})

const VIEW = viewOf({
  ipGroups: [group('lan', { advertInterval: ADVERT_INTERVAL_S }), group('sync', { connectionSync: true })],
  staticIps: IDS.map((nodeId, at) => {
    const ip = `${NETWORKS.lan}.${at + 1}`
    return { id: `lan ${nodeId}`, nodeId, groupId: 'lan', ip, externalPingCheck: false }
  }),
  floatingIps: [{ id: 'fip', ip: FLOATING, groupId: 'lan', enabled: true }],
  realServers: PORTS.map((port) => realServer(`r${port}`, { ip: REAL_SERVER, port })),
  l4Backends: PORTS.map((port) => l4Backend(`be${port}`, [`r${port}`], { scheduler: 'rr' })),
  l4Frontends: PORTS.map((port) =>
    l4Frontend(`fe${port}`, `be${port}`, { ip: FLOATING, ports: `${port}`, forwarding: 'gate' }),
  ),
})

/** All files of the drivers on this node, by path; its second network interface is eth1. */
function filesOf(id: Id): ReadonlyMap<string, string> {
  const names = new Map(NAMES.map((network, at) => [cardOf(id, network), `eth${at + 1}`]))
  const drivers: readonly Driver[] = [keepalivedDriver(id), vrrpDriver(id, () => IDS)]
  const written = drivers.flatMap((driver) => driver.render(VIEW))
  return new Map(written.map(({ path, content }) => [path, withInterfaceNames(content, names)]))
}

/** The disk that both read. */
async function payload(t: Test): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-payloads-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  await payloadDisk(
    async (inside) => {
      writeFileSync(join(inside, basename(UNIT.pathname)), readFileSync(UNIT))
      for (const id of IDS)
        for (const [path, content] of filesOf(id)) {
          mkdirSync(join(inside, id, dirname(path)), { recursive: true })
          writeFileSync(join(inside, id, path), content, { mode: 0o644 })
        }
    },
    join(folder, 'payload.img'),
  )
  return folder
}

const networkFile = (eth: string, address: string) =>
  `printf '[Match]\\nName=${eth}\\n[Network]\\nAddress=${address}/24\\nLinkLocalAddressing=no\\n' ` +
  `> /etc/systemd/network/20-${eth}.network`

async function start(t: Test, space: Namespace, folder: string, name: Id): Promise<Director> {
  const number = IDS.indexOf(name) + 1
  const cards = NAMES.map((network, at) => ({
    port: `${network}${number}`,
    mac: `52:54:00:00:0${at + 1}:0${number}`,
  }))
  for (const [at, network] of NAMES.entries()) {
    const port = cards[at]?.port ?? ''
    await space.ip(`tuntap add ${port} mode tap`, `link set ${port} master ${network} up`)
  }
  const guest = await startMachine({ memory_mib: MEMORY_MIB, processors: 2, payload: folder, space: space.name, cards })
  t.teardown(() => guest.stop())
  const shell = async (script: string) => {
    const { exitCode, stdout, stderr } = await guest.run('sh', '-c', script)
    if (exitCode !== 0) throw new Error(`${script}: ${stderr}${stdout}`)
    return stdout.trim()
  }
  const files = filesOf(name)
  // Its own state, and that of all addresses that move together.
  const states = [...new Set([...files.values()].flatMap((text) => [...text.matchAll(/\/run\/fulcrum-vrrp\/(\S+)"/g)]))]
    .map(([, state = '']) => state)
    .filter((state) => !state.startsWith('keepalived'))
  await shell(
    [
      'set -e',
      ...NAMES.map((network, at) => networkFile(`eth${at + 1}`, `${NETWORKS[network]}.${number}`)),
      `cp -r /srv/payload/${name}/. /`,
      `cp /srv/payload/${basename(UNIT.pathname)} /etc/systemd/system/`,
      'systemctl daemon-reload; networkctl reload',
    ].join('\n'),
  )
  const may = (have: boolean) =>
    shell(states.map((state) => `echo ${have ? 0 : 1} > ${STATES_FOLDER}/${state}`).join('\n')).then(() => undefined)
  const holds = async () =>
    (await guest.run('ip', '-o', '-4', 'address', 'show', 'dev', 'eth1')).stdout.includes(` ${FLOATING}/`)
  const serve = async () => {
    await soon(`the addresses of ${name}`, async () => (await shell('ip -br address')).includes(`.77.0.${number}/`))
    await shell(`mkdir -p ${WEIGHTS_FOLDER} ${STATES_FOLDER}; modprobe ip_vs; sysctl -qw net.ipv4.ip_nonlocal_bind=1`)
    await may(true)
    const checks = ['--dont-fork', '--check', '--use-file', CONFIG_FILE, '--pid', '/run/keepalived.pid']
    await guest.run('systemd-run', '--unit=layer4', 'keepalived', ...checks)
    await soon('its table', async () => (await shell('ipvsadm -Ln')).includes(`${FLOATING}:${PORTS[0]}`))
    await shell('systemctl start fulcrum-vrrp')
  }
  return { name, guest, port: cards[0]?.port ?? '', shell, serve, may, holds }
}

/** Both run, and the first has the address. */
export async function startDirectors(t: Test) {
  const folder = await payload(t)
  const space = await namespace(t, 'vm')
  for (const name of NAMES)
    await space.ip(
      `link add ${name} address 02:00:00:00:00:fe type bridge`,
      `link set ${name} up`,
      `address add ${NETWORKS[name]}.254/24 dev ${name}`,
    )
  const [left, right] = (await Promise.all(IDS.map((id) => start(t, space, folder, id)))) as [Director, Director]
  await left.serve()
  await soon('the address at the first', () => left.holds())
  await right.serve()
  return { space, left, right }
}
