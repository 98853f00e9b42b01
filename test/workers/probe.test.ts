import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { probePool } from '../../src/threads/worker-pool.ts'
import { temporaryFolder } from '../fixtures/folder.ts'

t.test('the tasks read this machine in a separate thread', async (test) => {
  const layer7proxy = { mode: 'systemd', masterSocket: '' } as const
  const pool = probePool({ profile: 'trial', stateFolder: temporaryFolder(test, 'probe'), layer7proxy })
  test.teardown(() => pool.close())
  const [clock, zones, size, interfaces] = await Promise.all([
    pool.run('clock', undefined),
    pool.run('timeZones', undefined),
    pool.run('conntrackSize', undefined),
    pool.run('interfaces', undefined),
  ])
  const hasEtcd = existsSync('/usr/bin/etcd')
  test.equal(((await pool.run('etcd', undefined)) ?? '').startsWith('etcd Version'), hasEtcd)
  test.match(clock.timezone, /^[A-Z]/)
  test.ok(zones === undefined || zones.includes('Etc/UTC'))
  let max: number | undefined
  try {
    max = Number(readFileSync('/proc/sys/net/netfilter/nf_conntrack_max', 'utf8'))
  } catch {
    max = undefined
  }
  test.equal(size, max)
  test.ok(Array.isArray(interfaces))
  for (const name of ['consoleEnabled', 'ssh'] as const) await test.resolves(pool.run(name, undefined))
})
