import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Run } from '../../../../workers/host/managed-program.ts'
import { parseTimeouts, readIpvsTimeouts, writeIpvsTimeouts } from '../../../../workers/host/settings/ipvs-timeouts.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'

/** As ipvsadm 1.31 prints it. */
const PRINTED = 'Timeout (tcp tcpfin udp): 900 120 300\n'

t.test('the three timeouts as ipvsadm prints them', async (test) => {
  test.equal(parseTimeouts(PRINTED), '900 120 300')
  test.equal(parseTimeouts("Can't initialize ipvs: Protocol not available\n"), undefined)
  test.equal(parseTimeouts(''), undefined)
})

t.test('without IPVS there are none, and nothing is run that would load it', async (test) => {
  const never: Run = async () => test.fail('it was run') as never
  test.equal(await readIpvsTimeouts(never, '/proc/net/no-such-table'), undefined)
})

t.test('with IPVS they are read and set outside the confinement', async (test) => {
  const table = join(temporaryFolder(test, 'ipvs'), 'ip_vs')
  writeFileSync(table, '')
  const ran: unknown[] = []
  let exitCode = 0
  const run: Run = async (argv, _, options) => {
    ran.push([argv.join(' '), options])
    return { exitCode, output: PRINTED }
  }
  test.equal(await readIpvsTimeouts(run, table), '900 120 300')
  test.equal((await writeIpvsTimeouts('60 5 7', run, 1000)).exitCode, 0)
  test.same(ran, [
    ['ipvsadm -L --timeout', { isUnconfined: true }],
    ['ipvsadm --set 60 5 7', { isUnconfined: true }],
  ])
  exitCode = 127
  test.equal(await readIpvsTimeouts(run, table), undefined, 'ipvsadm is not installed')
})
