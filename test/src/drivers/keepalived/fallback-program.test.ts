import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { FALLBACK_PROGRAM_TEXT } from '../../../../src/drivers/keepalived/fallback-program.ts'

t.test('the program prints its usage, and is valid for a POSIX shell', (test) => {
  const file = fileURLToPath(new URL('../../../../src/drivers/keepalived/fallback.sh', import.meta.url))
  test.match(FALLBACK_PROGRAM_TEXT, /^#!\/bin\/sh\n/)
  test.equal(spawnSync('sh', ['-n', file]).status, 0)
  const { status, stderr } = spawnSync('sh', [file, 'add'], { encoding: 'utf8' })
  test.equal(status, 2)
  test.match(stderr, /^usage: fulcrum-fallback/)
  test.end()
})
