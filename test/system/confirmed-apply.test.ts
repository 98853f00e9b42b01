import t from 'tap'
import { apiClient } from './api-client.ts'
import { until } from '../fixtures/until.ts'
import { startAppliance } from './appliance-container.ts'
import { containerObstacle } from './container.ts'
import { namespace, namespaceObstacle } from './network-namespace.ts'

/** A client on another machine cuts itself off from a real appliance, and is connected again without help. */

const obstacle = containerObstacle() ?? (await namespaceObstacle())
const ADDRESS = '10.77.0.10'
const API = `https://${ADDRESS}:9443/api/v1`
t.setTimeout(1_800_000)

t.test('a confirmed apply over a real network', { skip: obstacle ?? false }, async (t) => {
  const { machine, api, output, journal, node, password } = await startAppliance(t)
  const office = await namespace(t, 'office')
  const link = async (...words: readonly string[]) => {
    const { exitCode, stderr } = await machine.inNetwork('ip', 'link', ...words)
    if (exitCode !== 0) throw new Error(stderr)
  }
  await link('add', 'lan0', 'type', 'veth', 'peer', 'name', 'office0', 'netns', office.name)
  await link('set', 'lan0', 'up')
  await office.ip('address add 10.77.0.1/24 dev office0', 'link set office0 up')

  const { data } = await api.request('GET', `/${node}/interfaces`)
  const card = (data as readonly { id: string; name: string }[]).find(({ name }) => name === 'lan0')
  const groupId = await api.create('/ipgroups', {
    name: 'lan',
    networkIp: '10.77.0.0',
    networkMask: 24,
    assignedInterfaces: [{ nodeId: node, interfaceId: card?.id }],
  })
  const sip = await api.create(`/${node}/sips`, { groupId, ip: ADDRESS })
  const first = await api.request('PUT', '/services/apply')
  t.equal(first.status, 200, first.text)

  const run = async (...argv: readonly string[]) => {
    const { exitCode, output: stdout } = await office.run(argv, 60_000)
    return { exitCode, stdout, stderr: '' }
  }
  const far = apiClient(run, API)
  t.equal((await far.logIn('admin@localhost', password)).status, 200, 'the client works over the address')
  // The link's own IPv6 address does not matter here.
  const kernel = async () => JSON.parse(await output('ip', '-j', '-4', 'address', 'show', 'dev', 'lan0')) as unknown
  const isThere = async () => JSON.stringify(await kernel()).includes(ADDRESS)
  const answers = async () => (await far.request('GET', '/ping')).status === 200
  const before = await kernel()
  const revision = async () =>
    ((await api.request('GET', '/services/pending')).data as { revision: number; count: number }).revision

  await t.test('is refused without confirmWithin, and nothing changes', async (t) => {
    t.equal((await far.request('DELETE', `/${node}/sips/${sip}?ip=${ADDRESS}`)).status, 200)
    const refused = await far.request('PUT', '/services/apply')
    t.equal(refused.status, 422)
    t.match(refused.text, /CONFIRMATION_REQUIRED/)
    t.match(refused.text, /10\.77\.0\.10, which you are connected to, would be removed/)
    t.strictSame(await kernel(), before)
    t.equal((await api.request('POST', '/services/validate')).status, 200)
  })

  await t.test('the client is gone, and the address comes back automatically', async (t) => {
    const old = await revision()
    // The client never gets an answer: its address is gone before.
    const cut = office.run(
      [
        'curl',
        '-sk',
        '-m',
        '2',
        '-X',
        'PUT',
        '-H',
        `Authorization: Bearer ${far.token()}`,
        '-H',
        'Content-Type: application/json',
        '-d',
        '{"confirmWithin":20}',
        `${API}/services/apply`,
      ],
      60_000,
    )
    await until('address gone', async () => !(await isThere()))
    t.not((await cut).exitCode, 0, 'cut off')
    await until('its revision', async () => (await revision()) === old + 1)
    await until('address back', isThere)
    t.strictSame(await kernel(), before, 'as before')
    await until('answer', answers)
    await until('revision of its own', async () => (await revision()) === old + 2)
    t.match(await journal(), /was not confirmed in time/)
  })

  const pending = async () => ((await api.request('GET', '/services/pending')).data as { count: number }).count

  await t.test('so does it when the daemon is killed meanwhile', async (t) => {
    t.equal(await pending(), 1, 'the reverted change is pending again')
    const applied = await api.request('PUT', '/services/apply', { confirmWithin: 20 })
    t.equal(applied.status, 200, applied.text)
    t.notOk(await isThere())
    const pid = await output('systemctl', 'show', '-P', 'MainPID', 'fulcrum')
    t.match(pid, /^[1-9]\d*$/)
    await machine.run('kill', '-KILL', pid)
    await until('address back', isThere)
    t.strictSame(await kernel(), before)
    await until('answer', answers)
  })

  await t.test('confirmed, it stays', async (t) => {
    // The address is back before the revert is stored.
    await until('what was taken back', async () => (await pending()) === 1)
    t.equal((await far.request('DELETE', '/services/pending')).status, 200)
    const other = await api.create(`/${node}/sips`, { groupId, ip: '10.77.0.11' })
    t.equal((await far.request('PUT', '/services/apply', { confirmWithin: 600 })).status, 200)
    t.equal((await far.request('PUT', '/services/apply/confirm')).status, 200)
    t.match(await output('ip', '-j', 'address', 'show', 'dev', 'lan0'), /10\.77\.0\.11/)
    t.ok(other)
  })
})
