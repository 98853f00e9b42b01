import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { etcdPrograms } from '../fixtures/etcd-programs.ts'
import { type ApiClient, apiClient, until } from '../system/api-client.ts'
import { finished } from '../system/debian-tree.ts'
import { buildPackage } from '../system/fulcrum-package.ts'
import { type Namespace, namespace } from '../system/network-namespace.ts'
import { payloadDisk } from './guest-image.ts'
import { type Guest, startMachine } from './guest.ts'

/**
 * Two appliances and a witness with kernels, disks and power of their own, from their package. Networks: `lan` with
 * the clients and a real server, `site` between the three machines, `sync` between the kernels of the two appliances.
 */

const NETWORKS = { lan: '10.79.0', site: '10.78.0', sync: '10.77.0' } as const
type Network = keyof typeof NETWORKS
const CARDS = { node: ['lan', 'site', 'sync'], witness: ['site'] } as const
const VERSION = '0.1.0~1'
/** An emulated machine beside other work takes minutes for what takes seconds elsewhere. */
const PATIENCE_MS = 900_000
const ANSWER_S = 300

export const FLOATING = `${NETWORKS.lan}.100`
export const REAL_SERVER = `${NETWORKS.lan}.21`

export interface Machine {
  readonly name: string
  readonly guest: Guest
  /** Its port in each network. */
  readonly ports: Readonly<Partial<Record<Network, string>>>
  shell(script: string): Promise<string>
}

export interface Appliance extends Machine {
  readonly api: ApiClient
  /** Its address in this network. */
  readonly ip: Readonly<Record<Network, string>>
  id: string
}

export interface Seen {
  readonly quorum: boolean
  readonly witness: { readonly state: string; readonly isVoter: boolean } | null
  readonly nodes: readonly {
    readonly name: string
    readonly state: string
    readonly isVoter: boolean
    readonly isReady: boolean
    readonly floatingIps: readonly string[]
  }[]
}

export const soon = (what: string, isSo: () => Promise<boolean>) => until(what, isSo, PATIENCE_MS)

/** Emulated members of etcd lose their leader for a moment now and then: what changed nothing is asked again. */
export async function done({ api }: Appliance, method: string, path: string, body?: object): Promise<unknown> {
  let answer = await api.request(method, path, body)
  const isRefused = () => answer.status === 503 && answer.text.includes('Nothing was changed')
  await soon(`an answer of ${method} ${path}`, async () => {
    if (isRefused()) answer = await api.request(method, path, body)
    return !isRefused()
  })
  const { status, data, text } = answer
  if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${text}`)
  return data
}

/** Answers the id. */
export const create = async (node: Appliance, path: string, body: object) =>
  ((await done(node, 'POST', path, body)) as { readonly id: string }).id

export const seenBy = async ({ api }: Appliance) =>
  (await api.request('GET', '/cluster').catch(() => ({ data: undefined }))).data as Seen | undefined

/** A curl in the networks, which gives up on a machine that has no power. */
export const client = (space: Namespace, { ip }: Pick<Appliance, 'ip'>, patience_s: number): ApiClient => {
  const enter = ['--net=/run/netns/' + space.name] as const
  const inside = (...argv: readonly string[]) => finished('nsenter', [...enter, ...argv, '--connect-timeout', '5'])
  return apiClient(inside, `https://${ip.site}:9443/api/v1`, patience_s)
}

/** The disk that all of them read: the package, and the etcd that trials use. */
async function payload(t: Test): Promise<string> {
  const programs = await etcdPrograms()
  if (typeof programs === 'string') throw new Error(programs)
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-payloads-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  await payloadDisk(
    async (inside) => {
      await buildPackage(VERSION, inside)
      cpSync(programs.etcd, join(inside, 'etcd'))
    },
    join(folder, 'payload.img'),
  )
  return folder
}

const networkFile = (eth: string, address: string) =>
  `printf '[Match]\\nName=${eth}\\n[Network]\\nAddress=${address}/24\\nLinkLocalAddressing=no\\n' ` +
  `> /etc/systemd/network/20-${eth}.network`

async function start(t: Test, space: Namespace, folder: string, number: number, kind: keyof typeof CARDS) {
  const networks = CARDS[kind]
  const cards = networks.map((network, at) => ({
    port: `${network}${number}`,
    mac: `52:54:00:00:0${at + 1}:0${number}`,
  }))
  for (const [at, network] of networks.entries()) {
    const port = cards[at]?.port ?? ''
    await space.ip(`tuntap add ${port} mode tap`, `link set ${port} master ${network} up`)
  }
  const memory_mib = kind === 'node' ? 1_280 : 640
  const guest = await startMachine({ memory_mib, payload: folder, space: space.name, cards })
  t.teardown(() => guest.stop())
  const shell = async (script: string) => {
    const { exitCode, stdout, stderr } = await guest.run('sh', '-c', script)
    if (exitCode !== 0) throw new Error(`${script}: ${stderr}${stdout}`)
    return stdout.trim()
  }
  const name = kind === 'node' ? `lb${number}` : kind
  const files = networks.map((network, at) => networkFile(`eth${at + 1}`, `${NETWORKS[network]}.${number}`))
  const settings = `FULCRUM_PROFILE=witness\\nFULCRUM_PEER=${NETWORKS.site}.${number}:9444\\n`
  await shell(
    [
      'set -e',
      ...files,
      'networkctl reload',
      `hostnamectl set-hostname ${name} || echo ${name} > /etc/hostname`,
      'cp /srv/payload/etcd /usr/bin/etcd',
      ...(kind === 'node' ? [] : [`printf '${settings}' > /etc/default/fulcrum`]),
      `dpkg --force-confold --install /srv/payload/fulcrum_${VERSION}_amd64.deb`,
    ].join('\n'),
  )
  const ports = Object.fromEntries(networks.map((network) => [network, `${network}${number}`]))
  return { name, guest, ports, shell }
}

async function startAppliance(t: Test, space: Namespace, folder: string, number: number): Promise<Appliance> {
  const machine = await start(t, space, folder, number, 'node')
  const ip = { lan: '', site: '', sync: '' }
  for (const network of CARDS.node) ip[network] = `${NETWORKS[network]}.${number}`
  return { ...machine, ip, api: client(space, { ip }, ANSWER_S), id: '' }
}

async function logIn(node: Appliance, password: string): Promise<void> {
  await soon(`a login at ${node.name}`, async () => {
    const { status, data } = await node.api.logIn('admin@localhost', password)
    node.id = (data as { appliance_id?: string } | undefined)?.appliance_id ?? ''
    return status === 200
  })
}

/** So many are reached and vote, and so does the witness. */
export const whole = (node: Appliance, count = 2) =>
  soon(`${count} nodes and a witness that vote`, async () => {
    const { nodes = [], witness = null } = (await seenBy(node)) ?? {}
    const isWell = nodes.every(({ isVoter, state, isReady }) => isVoter && state === 'online' && isReady)
    return nodes.length === count && isWell && witness?.isVoter === true && witness.state === 'online'
  })

/** Forms the cluster; an answer that an emulated machine is late with is nothing but looked for. */
async function form(left: Appliance, right: Appliance, witness: Machine, password: string): Promise<void> {
  const begun = (node: Machine) => node.shell('journalctl -u fulcrum -o cat --no-pager | grep -c Documentation')
  const anew = async (node: Appliance, path: string, body: object) => {
    const before = await begun(node)
    const { status, text } = await node.api.request('POST', path, body)
    if (status >= 300) throw new Error(`${path}: ${status} ${text}`)
    await soon(`a new beginning of ${node.name}`, async () => (await begun(node)) !== before)
    await logIn(node, password)
  }
  const token = async (body: object) =>
    ((await done(left, 'POST', '/cluster/tokens', body)) as { readonly token: string }).token
  await anew(left, '/cluster', { name: 'site', address: `${left.ip.site}:9444`, nodeName: left.name })
  const address = `${right.ip.site}:9444`
  await anew(right, '/cluster/join', { token: await token({}), address, nodeName: right.name })
  await soon('two voters', async () => ((await seenBy(left))?.nodes ?? []).filter((one) => one.isVoter).length === 2)
  await witness.shell(`umask 077; printf '%s' '${await token({ role: 'witness' })}' > /var/lib/fulcrum/join-token`)
  await soon('the vote of the witness', async () => {
    const { quorum = false, witness: seen = null } = (await seenBy(left)) ?? {}
    return quorum && seen?.isVoter === true
  })
}

/** A site at a floating IP that both may have: HTTP through HAProxy, and two ports through IPVS. */
async function serve(left: Appliance, right: Appliance): Promise<string> {
  const nodes = [left, right]
  const group = async (name: Network, more: object) => {
    const assignedInterfaces = []
    for (const { api, id } of nodes) {
      const { data } = await api.request('GET', `/${id}/interfaces`)
      const eth = `eth${CARDS.node.indexOf(name) + 1}`
      const found = (data as readonly { id: string; name: string }[]).find((one) => one.name === eth)
      assignedInterfaces.push({ nodeId: id, interfaceId: found?.id })
    }
    const subnet = { networkIp: `${NETWORKS[name]}.0`, networkMask: 24, gateway: '', defaultGateway: false }
    const groupId = await create(left, '/ipgroups', { name, ...subnet, assignedInterfaces, ...more })
    for (const { id, ip } of nodes)
      await create(left, `/${id}/sips`, { groupId, ip: ip[name], externalPingCheck: false })
    return groupId
  }
  // Emulated machines stand still for longer than 0.6 s now and then.
  const groupId = await group('lan', { advertInterval: 1 })
  await group('sync', { connectionSync: true })
  const fip = await create(left, '/fips', { groupId, ip: FLOATING })
  const rip = (port: number) =>
    create(left, '/ipvsDirector/rips', { name: `origin-${port}`, ip: REAL_SERVER, port, weight: 1 })
  const web = { name: 'web', mode: 'http', reals: [{ ripId: await rip(8088) }] }
  const defaultBackendId = await create(left, '/layer7proxy/backends', web)
  const http = { name: 'web', mode: 'http', ip: FLOATING, ports: '80', defaultBackendId }
  await create(left, '/layer7proxy/frontends', http)
  for (const port of [2222, 8090]) {
    const pool = { name: `pool-${port}`, healthCheck: { type: 'none' }, scheduler: 'rr' }
    const backendId = await create(left, '/ipvsDirector/backends', { ...pool, reals: [{ ripId: await rip(port) }] })
    const site = { name: `tcp-${port}`, ip: FLOATING, ports: `${port}`, protocol: 'tcp', forwarding: 'gate' }
    await create(left, '/ipvsDirector/frontends', { ...site, backendId })
  }
  await done(left, 'PUT', '/services/apply', { comment: 'test' })
  return fip
}

export async function startSite(t: Test) {
  const folder = await payload(t)
  const space = await namespace(t, 'vm')
  for (const [name, net] of Object.entries(NETWORKS))
    await space.ip(`link add ${name} type bridge`, `link set ${name} up`, `address add ${net}.254/24 dev ${name}`)
  const [left, right, witness] = await Promise.all([
    startAppliance(t, space, folder, 1),
    startAppliance(t, space, folder, 2),
    start(t, space, folder, 3, 'witness'),
  ])
  const passwords = []
  for (const node of [left, right]) {
    const read = () => node.shell('cat /var/lib/fulcrum/first-password 2>/dev/null || true')
    await soon('a password', async () => (await read()) !== '')
    passwords.push(await read())
    await logIn(node, passwords.at(-1) ?? '')
  }
  const [password = ''] = passwords
  await form(left, right, witness, password)
  const fip = await serve(left, right)
  await whole(left)
  return { space, left, right, witness, fip, password, logIn: (node: Appliance) => logIn(node, password) }
}
