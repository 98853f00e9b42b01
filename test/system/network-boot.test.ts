import t from 'tap'
import { startAppliance } from './appliance-container.ts'
import { containerObstacle } from './container.ts'

/** fulcrum-network.service under a real systemd, with its own confinement. */

const obstacle = containerObstacle()
t.setTimeout(1_800_000)

t.test(
  'the unit restores addresses and routes after the kernel has lost them',
  { skip: obstacle ?? false },
  async (t) => {
    const { machine, api, output, node } = await startAppliance(t)
    const plug = async () => {
      await machine.inNetwork('ip', ...'link add lan0 address 02:00:00:00:00:11 type veth peer name lan1'.split(' '))
      for (const name of ['lan0', 'lan1']) await machine.inNetwork('ip', 'link', 'set', name, 'up')
    }
    const kernel = async () => [
      await output('ip', '-o', '-4', 'address', 'show', 'dev', 'lan0', 'scope', 'global'),
      await output('ip', '-4', 'route', 'show', 'table', 'all', 'proto', '70'),
      await output('ip', '-6', 'route', 'show', 'table', 'all', 'proto', '70'),
      await output('ip', 'rule', 'show'),
    ]
    const withoutNumbers = (texts: readonly string[]) => texts.map((text) => text.replaceAll(/^\d+: /gm, ''))
    await plug()
    const assignedInterfaces = [{ nodeId: node, interfaceId: 'lan0' }]
    const lan = { name: 'lan', networkIp: '10.79.0.0', networkMask: 24, gateway: '10.79.0.1', defaultGateway: true }
    const groupId = await api.create('/ipgroups', { ...lan, assignedInterfaces })
    for (const ip of ['10.79.0.5', '10.79.0.6']) {
      await api.create(`/${node}/sips`, { groupId, ip, externalPingCheck: false })
    }
    await api.create(`/${node}/routes`, { name: 'nowhere', type: 'blackhole', destination: '2001:db8:9::/48' })
    await api.create(`/${node}/routes`, { name: 'own way', type: 'policy', source: '10.79.0.6', viaIp: '10.79.0.2' })
    const applied = await api.request('PUT', '/services/apply')
    t.equal(applied.status, 200, applied.text)
    const before = await kernel()
    t.match(before[0], /10\.79\.0\.5\/24[^]*10\.79\.0\.6\/24/)

    await machine.run('cp', '/opt/fulcrum/systemd/fulcrum-network.service', '/etc/systemd/system/')
    const verified = await machine.run('systemd-analyze', 'verify', 'fulcrum-network.service')
    t.equal(verified.stderr, '', 'systemd has no complaint about the unit')
    await machine.run('systemctl', 'stop', 'fulcrum')
    // For the network this is like a start of the machine.
    await machine.inNetwork('ip', 'link', 'del', 'lan0')
    await machine.inNetwork('ip', '-6', 'route', 'flush', 'proto', '70')
    for (const priority of (await output('ip', 'rule', 'show')).matchAll(/^(1\d{4}):/gm)) {
      await machine.inNetwork('ip', 'rule', 'del', 'priority', priority[1] ?? '')
    }
    await plug()
    t.not(JSON.stringify(withoutNumbers(await kernel())), JSON.stringify(withoutNumbers(before)))

    const started = await machine.run('systemctl', 'start', 'fulcrum-network')
    // The last messages of a unit may reach the journal after its end.
    await machine.run('journalctl', '--sync')
    const journal = await output('journalctl', '-u', 'fulcrum-network', '-o', 'cat', '--no-pager')
    t.equal(started.exitCode, 0, journal)
    t.match(journal, /restored 2 addresses, 3 routes and 2 rules/)
    t.strictSame(withoutNumbers(await kernel()), withoutNumbers(before))
    t.equal(await output('systemctl', 'is-active', 'fulcrum-network'), 'active')
  },
)
