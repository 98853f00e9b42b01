import { cpSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from '../fixtures/until.ts'
import type { Finished } from '../system/debian-tree.ts'

/** Clients and real servers as namespaces inside a guest, which is the director between their two networks. */

const PROGRAMS = ['l4-server.mjs', 'l4-client.mjs'].map((name) => fileURLToPath(new URL(name, import.meta.url)))
const NODE = '/srv/payload/node'
const FOLDER = '/run/l4'
export const CLIENTS = ['cli1', 'cli2', 'cli3'] as const
export const SERVERS = ['rs1', 'rs2', 'rs3'] as const
/** Addresses of the service: the director has them, and the real servers as well without announcing them. */
export const VIP = { 4: '10.8.0.100', 6: 'fd08::100' } as const
export const serverIp = (name: (typeof SERVERS)[number], family: 4 | 6 = 4): string =>
  `${family === 4 ? '10.9.0.' : 'fd09::'}2${name.slice(2)}`
export const clientIp = (name: (typeof CLIENTS)[number], family: 4 | 6 = 4): string =>
  `${family === 4 ? '10.8.0.' : 'fd08::'}1${name.slice(3)}`
export const HEALTH_PORT = 8088
const PORTS = ['80', '81', '8000', '8001', '8002', '53', `${HEALTH_PORT + 1}`]

// Replies of address translation go through the director, by the rule for their source; those of the service's own
// address leave through the interface in the clients' network.
const NETWORK = `set -e
modprobe -a ip_vs ipip ip6_tunnel
port() {
  ip link add "v$1$2" type veth peer name "$2" netns "$1"
  ip link set "v$1$2" master "$3" up
  ip netns exec "$1" sysctl -qw "net.ipv6.conf.$2.accept_dad=0" "net.ipv4.conf.$2.rp_filter=0"
  ip -n "$1" link set "$2" up
  ip -n "$1" addr add "$4.$6/24" dev "$2"
  ip -n "$1" addr add "$5::$6/64" dev "$2" nodad
}
mkdir -p ${FOLDER}
for net in brc:10.8.0:fd08 brs:10.9.0:fd09; do
  IFS=: read -r bridge four six <<X
$net
X
  ip link add "$bridge" type bridge
  ip link set "$bridge" up
  ip addr add "$four.1/24" dev "$bridge"
  ip addr add "$six::1/64" dev "$bridge" nodad
done
ip addr add ${VIP[4]}/32 dev brc
ip addr add ${VIP[6]}/128 dev brc nodad
for n in 1 2 3; do
  ip netns add "cli$n"
  ip -n "cli$n" link set lo up
  port "cli$n" eth0 brc 10.8.0 fd08 "1$n"
  rs="rs$n"
  ip netns add "$rs"
  ip -n "$rs" link set lo up
  ip netns exec "$rs" sysctl -qw net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2 net.ipv4.conf.all.rp_filter=0
  port "$rs" eth0 brs 10.9.0 fd09 "2$n"
  port "$rs" eth1 brc 10.8.0 fd08 "2$n"
  ip -n "$rs" addr add ${VIP[4]}/32 dev lo
  ip -n "$rs" addr add ${VIP[6]}/128 dev lo nodad
  ip -n "$rs" rule add from 10.9.0.0/24 table 100
  ip -n "$rs" route add default via 10.9.0.1 table 100
  ip -n "$rs" -6 rule add from fd09::/64 table 100
  ip -n "$rs" -6 route add default via fd09::1 table 100
  ip -n "$rs" link set tunl0 up
  ip -n "$rs" link set ip6tnl0 up
  ip netns exec "$rs" sysctl -qw net.ipv4.conf.tunl0.rp_filter=0
done
`

/** For startApplianceGuest. */
export function labPrograms(folder: string): Promise<void> {
  for (const program of PROGRAMS) cpSync(program, `${folder}/${basename(program)}`)
  return Promise.resolve()
}

interface Machine {
  readonly guest: { run(...argv: readonly string[]): Promise<Finished> }
  readonly output: (...argv: readonly string[]) => Promise<string>
}

export async function startLab({ guest, output }: Machine) {
  let units = 0
  const must = async (...argv: readonly string[]) => {
    const { exitCode, stdout, stderr } = await guest.run(...argv)
    if (exitCode !== 0) throw new Error(`${argv.slice(0, 6).join(' ')}: ${stderr}`)
    return stdout
  }
  /** Returns the name of its unit. */
  const inBackground = async (namespace: string, ...argv: readonly string[]) => {
    const unit = `l4-${(units += 1)}`
    const inside = namespace === '' ? [] : ['ip', 'netns', 'exec', namespace]
    await must('systemd-run', '--quiet', '--collect', `--unit=${unit}`, ...inside, ...argv)
    return unit
  }
  const stopUnit = (unit: string) => guest.run('systemctl', 'stop', unit)
  const serving = new Map<string, string>()
  const start = async (name: (typeof SERVERS)[number]) => {
    const argv = [NODE, '/srv/payload/l4-server.mjs', name, FOLDER, `${HEALTH_PORT}`, ...PORTS]
    serving.set(name, await inBackground(name, ...argv))
    await until(
      `server ${name}`,
      async () => (await guest.run('ip', 'netns', 'exec', name, 'ss', '-Hltn', 'sport = :8089')).stdout !== '',
      Boolean,
      60_000,
    )
  }
  await must('sh', '-c', NETWORK)
  for (const name of SERVERS) await start(name)

  /** Number of each answer: the server, the client and service address that it sees, its port. */
  const answers = async (client: string, times: number, host: string, port: number, protocol = 'tcp') => {
    const argv = [NODE, '/srv/payload/l4-client.mjs', 'count', protocol, `${times}`, host, `${port}`]
    return JSON.parse(await must('ip', 'netns', 'exec', client, ...argv)) as Readonly<Record<string, number>>
  }
  return {
    start,
    stop: (name: string) => stopUnit(serving.get(name) ?? ''),
    /** Sets the answer of /health of this server. */
    setSick: (name: string, isSick: boolean) => must(isSick ? 'touch' : 'rm', `${FOLDER}/${name}.sick`),
    answers,
    /** The same by the first word: the server, or why there was no answer. */
    async shares(client: string, times: number, host: string, port: number, protocol = 'tcp') {
      const shares: Record<string, number> = {}
      for (const [answer, count] of Object.entries(await answers(client, times, host, port, protocol))) {
        const name = answer.split(' ')[0] ?? ''
        shares[name] = (shares[name] ?? 0) + count
      }
      return shares
    },
    /** Number of connection attempts that this client has repeated. */
    async begunAgain(client: string) {
      const [names = '', values = ''] = (await must('ip', 'netns', 'exec', client, 'cat', '/proc/net/netstat')).split(
        '\n',
      )
      return Number(values.split(' ')[names.split(' ').indexOf('TCPSynRetrans')])
    },
    /** A connection that stays open, with a request now and then (never, where `every_ms` is 0). */
    async hold(client: string, host: string, port: number, every_ms = 200) {
      const file = `${FOLDER}/held-${(units += 1)}`
      const argv = ['/srv/payload/l4-client.mjs', 'hold', host, `${port}`, file, `${every_ms}`]
      const unit = await inBackground(client, NODE, ...argv)
      const state = async () => {
        const text = await output('cat', file)
        return text === '' ? undefined : (JSON.parse(text) as { server: string; answered: number; ended: string })
      }
      await until('the held connection', async () => ((await state())?.server ?? '') !== '', Boolean, 30_000)
      return {
        server: (await state())?.server ?? '',
        state,
        /** Resolves when requests sent from now on are answered. */
        async isAlive() {
          const before = (await state())?.answered ?? 0
          await until(
            'answers over the held connection',
            async () => ((await state())?.answered ?? 0) > before + 1,
            Boolean,
            8_000,
          )
        },
        end: () => stopUnit(unit),
      }
    },
    /** Captures the packets of a device from now on, one line per packet, as tcpdump prints it. */
    async capture(namespace: string, device: string, filter: string) {
      const file = `${FOLDER}/capture-${(units += 1)}.pcap`
      const unit = await inBackground(
        namespace,
        'tcpdump',
        '-Z',
        'root',
        '--immediate-mode',
        '-U',
        '-w',
        file,
        '-i',
        device,
        filter,
      )
      await until('the capture', async () => (await guest.run('test', '-s', file)).exitCode === 0, Boolean, 30_000)
      return async () => {
        await stopUnit(unit)
        const text = await output('tcpdump', '-nnvr', file)
        return text.split(/\n(?=\d)/).filter((line) => line !== '')
      }
    },
  }
}
