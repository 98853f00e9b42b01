import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { FALLBACK_PROGRAM_TEXT } from '../../../../src/drivers/keepalived/fallback-program.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'

t.test('the program prints its usage, and is valid for a POSIX shell', (test) => {
  const file = fileURLToPath(new URL('../../../../src/drivers/keepalived/fallback.sh', import.meta.url))
  test.match(FALLBACK_PROGRAM_TEXT, /^#!\/bin\/sh\n/)
  test.equal(spawnSync('sh', ['-n', file]).status, 0)
  const { status, stderr } = spawnSync('sh', [file, 'add'], { encoding: 'utf8' })
  test.equal(status, 2)
  test.match(stderr, /^usage: fulcrum-fallback/)
  test.end()
})

/** Runs the program with a stand-in for ipvsadm, because IPVS is in few kernels. */
function run(test: Test, ipvsadm: string, verb: string) {
  const folder = temporaryFolder(test, 'fallback')
  writeFileSync(join(folder, 'ipvsadm'), `#!/bin/sh\ncd ${folder}\n${ipvsadm}`, { mode: 0o755 })
  writeFileSync(join(folder, 'program'), FALLBACK_PROGRAM_TEXT.replace('PATH=', `PATH=${folder}:`))
  const words = [join(folder, 'program'), verb, '10.0.0.9:80', '-m', '-t', '10.0.0.1:80']
  const { status, stderr } = spawnSync('sh', words, { encoding: 'utf8' })
  return { status, stderr }
}

t.test('the program may run twice at once: the other one adds the server in between', (test) => {
  const other = `case $1 in
-e) test -e there || { echo 'No such destination' >&2; exit 1; } ;;
-a) touch there; echo 'Destination already exists' >&2; exit 1 ;;
esac
`
  test.same(run(test, other, 'add'), { status: 0, stderr: '' })
  const refusing = "echo 'No such service' >&2; exit 1\n"
  test.same(run(test, refusing, 'add'), { status: 1, stderr: 'No such service\n' })
  test.end()
})
