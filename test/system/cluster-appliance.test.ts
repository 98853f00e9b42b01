import t from 'tap'
import { etcdPrograms } from '../fixtures/etcd-programs.ts'
import { startAppliance } from './appliance-container.ts'
import { containerObstacle } from './container.ts'

/** The unit of etcd, under a real systemd, with the etcd of Debian 13 on whatever Debian this is. */

t.setTimeout(600_000)

const programs = await etcdPrograms()
const obstacle = containerObstacle() ?? (typeof programs === 'string' ? programs : undefined)

t.test('an appliance forms a cluster, and is in it after a restart', { skip: obstacle ?? false }, async (t) => {
  if (typeof programs === 'string') return
  const { machine, api, output } = await startAppliance(t, [{ host: programs.etcd, inside: '/usr/bin/etcd' }])
  await machine.run('cp', '/opt/fulcrum/systemd/fulcrum-etcd.service', '/etc/systemd/system/')
  await machine.run('systemctl', 'daemon-reload')
  const formed = await api.request('POST', '/cluster', { name: 'site', address: '127.0.0.1:9444', nodeName: 'lb1' })
  t.equal(formed.status, 200, formed.text)
  const started = () => output('systemctl', 'show', 'fulcrum-etcd', '--property=ActiveState,MainPID')
  const before = await started()
  t.match(before, /ActiveState=active/)
  const { data } = await api.request('GET', '/cluster')
  t.match(data, { name: 'site', quorum: true, nodes: [{ name: 'lb1', isVoter: true }] })
  t.equal((await machine.run('systemctl', 'restart', 'fulcrum')).exitCode, 0)
  t.match(await api.request('GET', '/cluster'), { status: 200, data: { name: 'site', quorum: true } })
  t.equal(await started(), before, 'the same etcd')
})
