import type { Test } from 'tap'
import { AF_INET, AF_INET6, FORWARDING, PROTOCOL } from '../../src/ipvs/protocol.ts'
import type { ServiceEntry } from '../../src/ipvs/table.ts'
import type { IpvsKernel } from './ipvs-kernel.ts'

/** One call of `ipvsadm`, and its expected end. */
type Step = readonly [argv: string, refusal?: readonly [code: number, message: string]]

const KERNEL = 255
const PROGRAM = 2
const SERVICE = '198.51.100.7:80'

/** The behaviour of every kernel with IPVS: operations in order, with the expected refusals. */
const STEPS: readonly Step[] = [
  ['-C'],
  [`-A -t ${SERVICE} -s wrr`],
  [`-A -t ${SERVICE} -s rr`, [KERNEL, 'Service already exists']],
  ['-A -t 198.51.100.8:80 -s nonesuch', [KERNEL, 'Scheduler or persistence engine not found']],
  ['-A -t 198.51.100.9:0', [PROGRAM, 'Zero port specified for non-persistent service']],
  ['-E -t 198.51.100.9:80 -s rr', [KERNEL, 'No such service']],
  ['-D -t 198.51.100.9:80', [KERNEL, 'No such service']],
  ['-a -t 198.51.100.9:80 -r 192.0.2.1', [KERNEL, 'Service not defined']],
  [`-a -t ${SERVICE} -r 192.0.2.1 -m -w heavy`, [PROGRAM, 'illegal weight specified']],
  [`-a -t ${SERVICE} -r 192.0.2.1:8080 -m -w 3`],
  [`-a -t ${SERVICE} -r 192.0.2.1:8080 -m`, [KERNEL, 'Destination already exists']],
  // Without translation the port is that of the service.
  [`-a -t ${SERVICE} -r 192.0.2.2:9999 -g -w 0`],
  [`-a -t ${SERVICE} -r 192.0.2.3 -i -w 70000`],
  [`-e -t ${SERVICE} -r 192.0.2.4 -m`, [KERNEL, 'No such destination']],
  [`-d -t ${SERVICE} -r 192.0.2.4`, [KERNEL, 'No such destination']],
  [`-e -t ${SERVICE} -r 192.0.2.1:8080 -m -w 5`],
  ['-A -u 198.51.100.7:53 -s rr -p 90 -M 255.255.255.0'],
  ['-A -f 7 -s wlc -p'],
  ['-a -f 7 -r 192.0.2.5:0 -m'],
  ['-A -f 7 -6 -s sh'],
  ['-A -t [2001:db8::7]:443 -s wlc'],
  ['-a -t [2001:db8::7]:443 -r [2001:db8::1]:8443 -m -w 2'],
]

const byName = (services: readonly ServiceEntry[]): ReadonlyMap<string, ServiceEntry> =>
  new Map(
    services.map((one) => [
      one.mark === undefined ? `${one.protocol} ${one.address} ${one.port}` : `mark ${one.mark} ${one.family}`,
      one,
    ]),
  )

const NOTHING = { connections: 0, packetsIn: 0, packetsOut: 0, bytesIn: 0, bytesOut: 0 }

/** The same operations and expectations for the real kernel and for its simulator. */
export async function conformance(t: Test, kernel: IpvsKernel): Promise<void> {
  await t.test('operations and refusals', async (t) => {
    for (const [argv, [code, message] = [0, '']] of STEPS) {
      const ran = await kernel.run(argv.split(' '))
      t.equal(ran.code, code, argv)
      if (message !== '') t.match(ran.stderr, message, `${argv}: ${message}`)
    }
  })
  await t.test('the table over netlink', (t) => table(t, kernel))
  await t.test('changes of a service and of its servers', (t) => changes(t, kernel))
  if (kernel.connect !== undefined) await t.test('counters, and persistent data', (t) => traffic(t, kernel))
  await kernel.run(['-C'])
  t.strictSame(await kernel.dump(), [], 'an empty table')
}

async function table(t: Test, kernel: IpvsKernel): Promise<void> {
  const services = byName(await kernel.dump())
  t.equal(services.size, 5)
  const web = services.get(`${PROTOCOL.tcp} 198.51.100.7 80`)
  t.match(web, { family: AF_INET, scheduler: 'wrr', timeout: undefined, ...NOTHING, perSecond: NOTHING })
  const dests = [...(web?.dests ?? [])].sort((a, b) => (a.address < b.address ? -1 : 1))
  t.match(dests, [
    { address: '192.0.2.1', port: 8080, forwarding: FORWARDING.masq, weight: 5, active: 0, inactive: 0 },
    { address: '192.0.2.2', port: 80, forwarding: FORWARDING.gate, weight: 0, persistent: 0 },
    { address: '192.0.2.3', port: 80, forwarding: FORWARDING.ipip, weight: 70_000, ...NOTHING, perSecond: NOTHING },
  ])
  t.match(services.get(`${PROTOCOL.udp} 198.51.100.7 53`), { scheduler: 'rr', timeout: 90, netmask: '255.255.255.0' })
  const marked = services.get(`mark 7 ${AF_INET}`)
  t.match(marked, { scheduler: 'wlc', timeout: 360, netmask: '255.255.255.255', protocol: undefined })
  t.match(marked?.dests, [{ address: '192.0.2.5', port: 0, weight: 1 }])
  t.match(services.get(`mark 7 ${AF_INET6}`), { scheduler: 'sh', dests: [] })
  const secure = services.get(`${PROTOCOL.tcp} 2001:db8::7 443`)
  t.match(secure?.dests, [{ address: '2001:db8::1', port: 8443, weight: 2 }])
}

async function changes(t: Test, kernel: IpvsKernel): Promise<void> {
  const web = async () => byName(await kernel.dump()).get(`${PROTOCOL.tcp} 198.51.100.7 80`)
  await kernel.run(['-E', '-t', SERVICE, '-s', 'rr', '-p', '120'])
  t.match(await web(), { scheduler: 'rr', timeout: 120 })
  t.equal((await web())?.dests.length, 3, 'an edited service keeps its servers')
  await kernel.run(['-d', '-t', SERVICE, '-r', '192.0.2.3'])
  t.equal((await web())?.dests.length, 2)
  await kernel.run(['-D', '-t', SERVICE])
  t.equal(await web(), undefined)
  t.match(await kernel.run(['-a', '-t', SERVICE, '-r', '192.0.2.1']), { code: KERNEL, stderr: /Service not defined/ })
}

async function traffic(t: Test, kernel: IpvsKernel): Promise<void> {
  const run = (text: string) => kernel.run(text.split(' '))
  const web = async () => byName(await kernel.dump()).get(`${PROTOCOL.tcp} 198.51.100.7 80`)
  await run(`-A -t ${SERVICE} -s wrr`)
  await run(`-a -t ${SERVICE} -r 192.0.2.1 -m -w 3`)
  await run(`-a -t ${SERVICE} -r 192.0.2.2 -m -w 1`)
  for (let i = 0; i < 8; i++) await kernel.connect?.('203.0.113.1', '198.51.100.7', 80)
  t.equal((await web())?.connections, 0, 'the estimator counts every two seconds, not at once')
  await kernel.settle?.()
  const counted = await web()
  t.equal(counted?.connections, 8)
  t.strictSame(
    [...(counted?.dests ?? [])].map(({ connections }) => connections).sort((a, b) => a - b),
    [2, 6],
    'by weight',
  )
  await run(`-d -t ${SERVICE} -r 192.0.2.1`)
  await run(`-a -t ${SERVICE} -r 192.0.2.1 -m -w 3`)
  const back = (await web())?.dests.find(({ address }) => address === '192.0.2.1')
  t.equal(back?.connections, 6, 'a server that is soon added again keeps its counts')
  await run(`-Z -t ${SERVICE}`)
  t.match(await web(), { ...NOTHING })
  await run(`-E -t ${SERVICE} -s wrr -p 300`)
  const first = await kernel.connect?.('203.0.113.9', '198.51.100.7', 80)
  for (let i = 0; i < 5; i++) t.equal(await kernel.connect?.('203.0.113.9', '198.51.100.7', 80), first, 'persistent')
  const isTemplate = { client: '203.0.113.9', clientPort: 0, service: '198.51.100.7', server: first }
  t.match(
    (await kernel.connections()).filter(({ clientPort }) => clientPort === 0),
    [isTemplate],
  )
  await run(`-e -t ${SERVICE} -r ${first} -m -w 0`)
  t.equal(await kernel.connect?.('203.0.113.9', '198.51.100.7', 80), first, 'a drained server keeps its clients')
  await run(`-d -t ${SERVICE} -r ${first}`)
  t.not(await kernel.connect?.('203.0.113.9', '198.51.100.7', 80), first, 'a removed server does not')
}
