import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url))

t.test('an uncaught error ends the test in which it occurs, and no other', (test) => {
  const preloads = ['../src/code-cache.mjs', '../.ci/test-process.mjs'].flatMap((name) => ['--import', path(name)])
  const argv = ['--no-warnings', ...preloads, path('fixtures/uncaught-errors.ts')]
  const { status, stdout } = spawnSync(process.execPath, argv, {
    cwd: path('..'),
    env: { PATH: process.env['PATH'] },
    encoding: 'utf8',
  })
  const results = stdout.split('\n').filter((line) => /^ *(?:not )?ok /.test(line))
  test.same(
    results.map((line) => line.replace(/ # time=.*/, '').trim()),
    [
      'not ok 1 - of a timer',
      'not ok 1 - thrown',
      'not ok 1 - of a promise',
      'not ok 2 - rejected',
      'ok 1 - (unnamed test)',
      'ok 1 - over',
      'not ok 2 - of one that is over',
      'not ok 3 - around',
      'ok 1 - goes on',
      'ok 4 - whole',
    ],
  )
  test.equal(status, 1)
  test.end()
})
