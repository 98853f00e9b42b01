import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Contexts } from '../../../../src/cli/contexts.ts'
import { cliFixture } from '../../../fixtures/cli.ts'

const PROGRAM = join(import.meta.dirname, '../../../../systemd/fulcrum')
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
  test.same(await words('apply', '-m', 'x'), [''], 'the value of an option')
  test.same(await words('completion', ''), ['bash', 'zsh', 'fish'])
  test.same(await words('get', 'frogs', ''), [''], 'an invalid line has no completions')
})

t.test('shells are told to offer files where a file is expected, and nowhere else', async (test) => {
  const { run } = await fixture(test)
  const places = [
    'plan -f',
    'plan --file a.yaml --out',
    'apply -f a.yaml --file',
    'apply',
    'validate -f',
    'import haproxy',
    'backup create',
    'backup restore',
    'cert add site',
    'cert add site a.pem',
    'cert add site a.pem b.pem',
    'diagnose',
  ]
  for (const place of places)
    test.same(await run(['__complete', '--', ...place.split(' '), '']), { exit: 1, out: '', err: '' }, place)
  for (const other of ['import', 'backup restore a.json', 'diagnose a.json', 'cert add', 'api', 'server drain'])
    test.match(await run(['__complete', '--', ...other.split(' '), '']), { exit: 0 }, other)
})

t.test('names of contexts are completed, and other names come from the given context', async (test) => {
  const { run, call, env } = await fixture(test)
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web1', ip: '192.0.2.1', port: 80 } })
  const contexts = new Contexts(env)
  const { FULCRUM_URL: url, FULCRUM_TOKEN: token, FULCRUM_FINGERPRINT: fingerprint } = env
  contexts.keep('lb1', { url, token, fingerprint, user: '' })
  contexts.keep('lb2', { url: 'https://127.0.0.1:1', token, user: '' })
  const words = async (...typed: readonly string[]) =>
    (await run(['__complete', '--', ...typed], { env: { FULCRUM_URL: '' } })).out.trim().split('\n')
  for (const option of ['-c', '--context']) {
    test.same(await words(option, ''), ['lb1', 'lb2'])
    test.same(await words('server', 'drain', option, 'lb2'), ['lb2'])
    test.same(await words(option, 'lb1', 'server', 'drain', ''), ['web1'])
  }
  test.same(await words('server', 'drain', ''), [''], 'no daemon answers')
})

t.test('scripts for shells are printed', async (test) => {
  const { run } = await fixture(test)
  for (const shell of ['bash', 'zsh', 'fish'])
    test.match(await run(`completion ${shell}`), { exit: 0, out: /__complete(_bash)? --/ })
  test.match(await run('completion tcsh'), { exit: 1, err: /use bash, zsh, fish/ })
})

t.test('bash gets complete arguments, and nothing where it parses differently', async (test) => {
  const { run, call } = await fixture(test)
  for (const name of ['web1`touch x`', 'Web 2', 'lb:web'])
    await call('POST', '/ipvsDirector/rips', { body: { name, ip: '192.0.2.1', port: 80 } })
  const told = async (line: string, end: string) => (await run(['__complete_bash', '--', line, end])).out
  test.equal(await told('fulcrum server drain we', 'we'), 'web1\\`touch\\ x\\`\nWeb\\ 2\n')
  test.equal(await told('fulcrum server drain "web ', 'web '), 'Web 2\n')
  test.equal(await told('fulcrum server drain lb:', ''), 'web\n')
  test.equal(await told('fulcrum server drain $A', '$A'), '')
  test.equal(await told('fulcrum', 'fulcrum'), '')
})

const noPty = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0 ? false : 'there is no script(1)'

t.test('an interactive bash executes nothing from a name', { skip: noPty }, async (test) => {
  const { run, call, env, home } = await fixture(test)
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web1`touch x`', ip: '192.0.2.1', port: 80 } })
  const rc = join(home, 'bashrc')
  const ran = join(home, 'ran')
  const { out } = await run('completion bash')
  // Completions come from the program; entered commands are written down.
  const fulcrum = `fulcrum() { case $1 in __*) '${PROGRAM}' "$@";; *) printf '%s\\n' "$@" >'${ran}'; exit;; esac; }`
  writeFileSync(rc, `cd '${home}'\n${out}${fulcrum}\n`)
  const child = spawn('script', ['-qec', `bash --rcfile '${rc}' -i`, '/dev/null'], {
    env: { ...process.env, ...env, TERM: 'dumb' },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  child.stdin.write('fulcrum server drain we\t\r')
  await once(child, 'close')
  test.same(readFileSync(ran, 'utf8').split('\n'), ['server', 'drain', 'web1`touch x`', ''])
  test.notOk(existsSync(join(home, 'x')))
})
