import { execFileSync } from 'node:child_process'
import t from 'tap'
import { cliFixture } from '../../../fixtures/cli.ts'

const fixture = cliFixture(t)

t.test('commands, options, kinds and names are completed', async (test) => {
  const { run, call } = await fixture(test)
  await call('POST', '/ipvsDirector/rips', { body: { name: 'Web 1', ip: '192.0.2.1', port: 80 } })
  const words = async (...typed: readonly string[]) =>
    (await run(['__complete', '--', ...typed])).out.trim().split('\n')
  test.same(await words('pl'), ['plan'])
  test.ok(!(await words('')).includes('__complete'))
  test.same(await words('server', 'd'), ['drain'])
  test.same(await words('--json', 'get', 'serv'), ['services', 'servers'])
  test.same(await words('get', 'servers', 'w'), ['Web 1'])
  test.same(await words('server', 'drain', ''), ['Web 1'])
  test.same(await words('plan', '--pr'), ['--prune'])
  test.same(await words('plan', '-f', 'x'), [''], 'the value of an option')
  test.same(await words('completion', ''), ['bash', 'zsh', 'fish'])
  test.same(await words('get', 'frogs', ''), [''], 'what is wrong completes to nothing')
})

t.test('scripts for shells are written, and bash takes its own', async (test) => {
  const { run } = await fixture(test)
  for (const shell of ['bash', 'zsh', 'fish'])
    test.match(await run(`completion ${shell}`), { exit: 0, out: /__complete --/ })
  const { out } = await run('completion bash')
  const check = `${out}\nfulcrum() { printf 'web1\\nweb 2\\n'; }\nCOMP_WORDS=(fulcrum get servers w)\nCOMP_CWORD=3\n_fulcrum\nprintf '%s|' "\${COMPREPLY[@]}"`
  test.equal(execFileSync('bash', ['-c', check], { encoding: 'utf8' }), 'web1|web 2|')
  test.match(await run('completion tcsh'), { exit: 1, err: /say bash, zsh, fish/ })
})
