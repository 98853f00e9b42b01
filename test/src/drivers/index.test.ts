import t from 'tap'
import { createDrivers } from '../../../src/drivers/index.ts'
import { supervisedPaths } from '../../../src/drivers/haproxy/paths.ts'

t.test('every managed program has a driver', (t) => {
  const drivers = createDrivers({ haproxy: supervisedPaths('/state/haproxy'), stateFolder: '/state' }, 'node')
  t.strictSame(
    drivers.map(({ name }) => name),
    [
      'network',
      'clusterha',
      'layer7proxy',
      'ipvsDirector',
      'conntrack',
      'timezone',
      'ntp',
      'proxy',
      'webui',
      'ssh',
      'snmp',
    ],
  )
  t.end()
})
