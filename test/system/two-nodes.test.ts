import t from 'tap'
import { startAppliance } from './appliance-container.ts'
import { containerObstacle } from './container.ts'
import { namespace, namespaceObstacle } from './network-namespace.ts'

/** Two appliances on one network, each with its own addresses, created through their APIs. */

const obstacle = containerObstacle() ?? (await namespaceObstacle())
t.setTimeout(1_800_000)

type Appliance = Awaited<ReturnType<typeof startAppliance>>

t.test('two nodes on one network', { skip: obstacle ?? false }, async (t) => {
  const lan = await namespace(t, 'lan')
  await lan.ip('link add br0 type bridge', 'link set br0 up', 'address add 10.78.0.254/24 dev br0')
  const [one, two] = [await startAppliance(t), await startAppliance(t)]
  const plug = async ({ machine }: Appliance, port: string) => {
    const words = `link add lan0 type veth peer name ${port} netns ${lan.name}`.split(' ')
    t.equal((await machine.inNetwork('ip', ...words)).exitCode, 0)
    await machine.inNetwork('ip', 'link', 'set', 'lan0', 'up')
    await lan.ip(`link set ${port} master br0 up`)
  }
  await plug(one, 'port1')
  await plug(two, 'port2')

  const groupOf = async ({ api, node }: Appliance, gateway: string) => {
    const { data } = await api.request('GET', `/${node}/interfaces`)
    const interfaceId = (data as readonly { id: string; name: string }[]).find(({ name }) => name === 'lan0')?.id
    const subnet = { networkIp: '10.78.0.0', networkMask: 24, gateway, defaultGateway: gateway !== '' }
    return api.create('/ipgroups', { name: 'lan', ...subnet, assignedInterfaces: [{ nodeId: node, interfaceId }] })
  }
  const apply = ({ api }: Appliance) => api.request('PUT', '/services/apply', { comment: 'test' })
  const kernel = async ({ output }: Appliance, ...words: readonly string[]) =>
    JSON.parse(await output('ip', '-j', ...words)) as unknown
  const group1 = await groupOf(one, '10.78.0.254')
  const sip = await one.api.create(`/${one.node}/sips`, { groupId: group1, ip: '10.78.0.1' })

  await t.test('an address and the default route of its group', async (t) => {
    t.strictSame(await kernel(one, '-4', 'route', 'show'), [])
    const applied = await apply(one)
    t.match(applied, { status: 200, data: { warnings: [] } }, applied.text)
    t.match(await kernel(one, '-4', 'address', 'show', 'dev', 'lan0'), [
      { addr_info: [{ family: 'inet', local: '10.78.0.1', prefixlen: 24 }] },
    ])
    t.match(await kernel(one, '-4', 'route', 'show', 'default'), [{ gateway: '10.78.0.254', dev: 'lan0' }])
    const ping = await one.api.request('POST', `/${one.node}/sips/${sip}/ping`, {})
    t.match(
      ping,
      { status: 200, data: { ok: true, from: '10.78.0.1', to: '10.78.0.254', received: Number } },
      ping.text,
    )
    const dead = await one.api.request('POST', `/${one.node}/sips/${sip}/ping`, { to: '10.78.0.99' })
    t.match(dead, { status: 200, data: { ok: false, received: 0, reason: String } }, dead.text)
  })

  const group2 = await groupOf(two, '10.78.0.250')
  await t.test('an address that the other node has is refused before anything changes', async (t) => {
    const before = await kernel(two, 'address', 'show', 'dev', 'lan0')
    const taken = await two.api.create(`/${two.node}/sips`, { groupId: group2, ip: '10.78.0.1' })
    const refused = await apply(two)
    t.not(refused.status, 200)
    t.match(refused.text, /10\.78\.0\.1/)
    t.match(refused.text, /[0-9a-f]{2}(:[0-9a-f]{2}){5}/i, 'names the network interface that has it')
    t.strictSame(await kernel(two, '-4', 'address', 'show', 'dev', 'lan0'), [])
    t.ok(before)
    const deleted = await two.api.request('DELETE', `/${two.node}/sips/${taken}?ip=10.78.0.1`)
    t.equal(deleted.status, 200, deleted.text)
  })

  await t.test('its own address; a silent gateway is reported, not a failure', async (t) => {
    await two.api.create(`/${two.node}/sips`, { groupId: group2, ip: '10.78.0.2' })
    const applied = await apply(two)
    t.equal(applied.status, 200, applied.text)
    t.match(applied.text, /10\.78\.0\.250/, 'a warning names the gateway')
    t.match((await two.machine.run('ping', '-c1', '-W2', '10.78.0.1')).exitCode, 0, 'the nodes reach each other')
  })

  await t.test('a restart of the daemon changes nothing in the kernel', async (t) => {
    const all = async () => [
      await kernel(one, '-4', 'address', 'show', 'dev', 'lan0'),
      await kernel(one, '-4', 'route', 'show', 'table', 'all'),
    ]
    const before = await all()
    t.equal((await one.machine.run('systemctl', 'restart', 'fulcrum')).exitCode, 0)
    t.strictSame(await all(), before)
  })
})
