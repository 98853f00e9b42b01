import t from 'tap'
import { findProgram, notInstalled, PROGRAM_FOLDERS } from '../../../workers/host/programs.ts'

t.test('programs are found in the system folders', async (t) => {
  const shell = await findProgram('sh')
  t.ok(PROGRAM_FOLDERS.some((folder) => shell === `${folder}/sh`))
  t.equal(await findProgram(shell ?? ''), shell, 'or at their path')
  t.equal(await findProgram('no-such-program'), undefined)
  t.equal(await findProgram('/etc/passwd'), undefined, 'a file that cannot be executed is no program')
})

t.test('the remedy for a missing program', (t) => {
  t.strictSame(notInstalled('/usr/sbin/haproxy'), {
    exitCode: 127,
    output: 'haproxy is not installed: run "apt-get install haproxy" as root',
  })
  t.match(notInstalled('systemctl').output, 'apt-get install systemd')
  t.match(notInstalled('chronyd').output, 'apt-get install chrony')
  t.end()
})
