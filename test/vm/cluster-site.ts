import { execFile, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { etcdPrograms } from '../fixtures/etcd-programs.ts'
import { cableObstacle, distantCable } from '../labs/distant-cable.ts'
import { apiClient, type ApiClient } from '../system/api-client.ts'
import { until } from '../fixtures/until.ts'
import type { Finished } from '../system/debian-tree.ts'
import { buildPackage } from '../system/fulcrum-package.ts'
import { type Namespace, namespace, namespaceObstacle } from '../system/network-namespace.ts'
import type { Node } from '../system/site-machines.ts'
import { VERSION } from './appliance-guest.ts'
import { inDisk, payloadDisk } from './guest-image.ts'
import { type Guest, guestObstacle, startMachine } from './guest.ts'

/**
 * Two appliances and a witness with their own kernels, disks, network interfaces, clocks and power, installed from the
 * package. The appliances have two networks: `site`, in which members communicate, and `lan`, with floating IPs. The
 * witness is at the far end of a long cable that begins in `site`.
 */

const NETWORKS = { site: '10.77.0', lan: '10.79.0' } as const
type Network = keyof typeof NETWORKS
const NETWORK_NAMES = Object.keys(NETWORKS) as readonly Network[]
/** Delay of packets to the witness, and of its answers. */
export const DELAY_MS = 50
export const LAN = NETWORKS.lan
export const FLOATING = `${LAN}.100`
/** A web server in `lan`. */
export const ORIGIN = { ip: `${LAN}.254`, port: 8090 } as const
const ORIGIN_PROGRAM = `require('node:http').createServer((_, answer) => answer.end('origin')).listen(${ORIGIN.port}, '${ORIGIN.ip}')`
/** Three machines share the two processors of a small host: with more, each would only wait for the others. */
const PROCESSORS = 1
const MEMORY_MIB = 1024
/** Longest wait for the answer to one request. */
const ANSWER_S = 300
/** Three of them beside other work take minutes for operations that take a second elsewhere. */
const PATIENCE_MS = 600_000

const LOOK_EVERY_MS = 2_000

const programs = await etcdPrograms()

/** Returns why no site can be started. */
export const siteObstacle = async (): Promise<string | undefined> =>
  guestObstacle() ??
  cableObstacle ??
  (await namespaceObstacle()) ??
  (typeof programs === 'string' ? programs : undefined)

export const soon = (what: string, isSo: () => Promise<boolean>) =>
  until(
    what,
    async () => {
      if (await isSo()) return true
      // Each look takes the processor from the awaited operation, for longer than elsewhere.
      await sleep(LOOK_EVERY_MS)
      return false
    },
    Boolean,
    PATIENCE_MS,
  )

interface Machine {
  readonly name: string
  readonly ip: string
  readonly guest: Guest
  output(...argv: readonly string[]): Promise<string>
  shell(script: string): Promise<string>
}

export interface Appliance extends Machine, Node {
  readonly id: string
  /** Another client, with this patience for answers. */
  client(patience_s: number): ApiClient
  /** Whether its kernel has the floating IP. */
  holds(): Promise<boolean>
}

const networkFile = (eth: string, address: string) =>
  `printf '[Match]\\nName=${eth}\\n[Network]\\nAddress=${address}/24\\nLinkLocalAddressing=no\\n' ` +
  `> /etc/systemd/network/20-${eth}.network`

/** An emulated machine is ten and more times as slow: etcd's default timers, 0.1 and 1 s, expire too often. */
const ETCD_TIMERS = '[Service]\\nEnvironment=ETCD_HEARTBEAT_INTERVAL=500 ETCD_ELECTION_TIMEOUT=5000\\n'
const ETCD_SETTINGS = '/etc/systemd/system/fulcrum-etcd.service.d'

/** Commands that install the package without running it; the first boot starts it, as with a prepared image. */
const installation = (name: string, addresses: readonly string[], settings: string) =>
  [
    `dpkg --install /mnt/fulcrum_${VERSION}_amd64.deb`,
    // Debian 12 has one that is too old; this is the program of Debian 13.
    'install /mnt/etcd /usr/bin/etcd',
    `echo ${name} > /etc/hostname; sed -i s/guest/${name}/ /etc/hosts`,
    ...addresses.map((address, at) => networkFile(`eth${at + 1}`, address)),
    `printf '${settings}' > /etc/default/fulcrum`,
    `mkdir -p ${ETCD_SETTINGS}; printf '${ETCD_TIMERS}' > ${ETCD_SETTINGS}/timers.conf`,
  ].join('\n')

/** A program of this machine in a network of the lab. */
const runIn =
  (space: Namespace) =>
  (...argv: readonly string[]): Promise<Finished> =>
    new Promise((resolve) => {
      const child = execFile('nsenter', [`--net=/run/netns/${space.name}`, ...argv], (error, stdout, stderr) => {
        resolve({ exitCode: error === null ? 0 : (child.exitCode ?? 1), stdout, stderr })
      })
    })

/** All three run, and the nodes have their first administrator logged in; none is in a cluster. */
export async function startSite(t: Test) {
  if (typeof programs === 'string') throw new Error(programs)
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-site-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  await buildPackage(VERSION, folder)
  cpSync(programs.etcd, join(folder, 'etcd'))
  await payloadDisk(() => Promise.resolve(), join(folder, 'payload.img'))
  const [space, far] = [await namespace(t, 'vm'), await namespace(t, 'far')]
  const bridge = (one: Namespace, name: string, address: string) =>
    one.ip(`link add ${name} address 02:00:00:00:00:${address} type bridge`, `link set ${name} up`)
  for (const name of NETWORK_NAMES) {
    await bridge(space, name, 'fe')
    await space.ip(`address add ${NETWORKS[name]}.254/24 dev ${name}`)
  }
  await bridge(far, 'site', 'fd')
  await distantCable(t, 'wan', far, 'wan', DELAY_MS, space)
  for (const one of [space, far]) await one.ip('link set wan master site up')

  const machine = async (name: string, number: number, at: Namespace, networks: readonly Network[], settings = '') => {
    const cards = networks.map((network, card) => ({
      port: `${network}${number}`,
      mac: `52:54:00:00:0${card + 1}:0${number}`,
    }))
    for (const [card, network] of networks.entries()) {
      const port = cards[card]?.port ?? ''
      await at.ip(`tuntap add ${port} mode tap`, `link set ${port} master ${network} up`)
    }
    const addresses = networks.map((network) => `${NETWORKS[network]}.${number}`)
    const guest = await startMachine({
      memory_mib: MEMORY_MIB,
      processors: PROCESSORS,
      payload: folder,
      space: at.name,
      cards,
      prepare: (disk) => inDisk(disk, folder, installation(name, addresses, settings)),
    })
    t.teardown(() => guest.stop())
    const output = async (...argv: readonly string[]) => (await guest.run(...argv)).stdout.trim()
    const shell = async (script: string) => {
      const { exitCode, stdout, stderr } = await guest.run('sh', '-c', script)
      if (exitCode !== 0) throw new Error(`${script}: ${stderr}${stdout}`)
      return stdout.trim()
    }
    return { name, ip: `${NETWORKS.site}.${number}`, guest, output, shell }
  }

  const appliance = async (name: string, number: number): Promise<Appliance> => {
    const it = await machine(name, number, space, NETWORK_NAMES)
    const client = (patience_s: number) => apiClient(runIn(space), `https://${it.ip}:9443/api/v1`, patience_s)
    const api = client(ANSWER_S)
    let [password, id] = ['', '']
    await soon(`a login at ${name}`, async () => {
      password ||= await it.output('cat', '/var/lib/fulcrum/first-password')
      const { status, data } = await api.logIn('admin@localhost', password)
      if (status === 200) id = (data as { appliance_id: string }).appliance_id
      return status === 200
    }).catch(async (error: unknown) => {
      throw new Error(await it.output('journalctl', '-u', 'fulcrum', '--no-pager'), { cause: error })
    })
    const holds = async () => (await it.output('ip', '-o', '-4', 'address', 'show')).includes(` ${FLOATING}/`)
    return { ...it, api, client, password, id, holds }
  }
  const settings = `FULCRUM_PROFILE=witness\\nFULCRUM_PEER=${NETWORKS.site}.3:9444\\n`
  const [left, right, witness] = await Promise.all([
    appliance('lb1', 1),
    appliance('lb2', 2),
    machine('witness', 3, far, ['site'], settings),
  ])
  const origin = spawn('nsenter', [`--net=/run/netns/${space.name}`, process.execPath, '-e', ORIGIN_PROGRAM])
  t.teardown(() => origin.kill('SIGKILL'))
  return {
    left,
    right,
    witness,
    /** The cable to the witness. */
    uplink: (state: 'up' | 'down') => space.ip(`link set wan ${state}`),
    /** Whether a client in `lan` gets an answer at the floating IP. */
    isServed: async () => (await runIn(space)('curl', '-s', '-m', '5', `http://${FLOATING}/`)).stdout === 'origin',
  }
}
