import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { commandLine } from '../../workers/host/processes.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { Daemon, daemonFixture, MAIN, PASSWORD } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { freePort } from '../fixtures/traffic.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
t.setTimeout(1_800_000)

/** Runs the command line to its end. */
async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [...MAIN, ...args], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}

t.test('bad settings end with exit code 2 and one line', async (test) => {
  for (const args of [
    ['--nope'],
    ['--listen', 'x'],
    ['--http', '0.0.0.0:80'],
    ['--state', `/tmp/${'long'.repeat(40)}`],
  ]) {
    const { code, stderr, stdout } = await run(args)
    test.equal(code, 2, args.join(' '))
    test.match(stderr, /^fulcrum: [^\n]+\n$/, args.join(' '))
    test.equal(stdout, '')
  }
})

t.test('--help lists the options', async (test) => {
  const { code, stdout } = await run(['--help'])
  test.equal(code, 0)
  test.match(stdout, /--state DIR/)
})

t.test('a second daemon on the same state folder or port is refused with a clear line', async (test) => {
  const daemon = await daemonFixture(test)
  const sameState = await run(['--state', daemon.state, '--listen', '127.0.0.1:0', '--no-demo'])
  test.equal(sameState.code, 1)
  test.match(sameState.stderr, /^fulcrum: the state folder .* cannot be locked: another daemon is using it/)
  const samePort = await run([
    '--state',
    temporaryFolder(test, 'second'),
    '--listen',
    `127.0.0.1:${daemon.port}`,
    '--no-demo',
  ])
  test.equal(samePort.code, 1)
  test.match(samePort.stderr, /fulcrum: cannot listen on 127\.0\.0\.1:\d+/)
  test.equal((await daemon.call('GET', '/ping')).status, 200)
})

t.test('--check verifies the stores of a stopped daemon, and is refused while one runs', async (test) => {
  const daemon = await daemonFixture(test)
  await daemon.data('POST', '/ipvsDirector/rips', { name: 'a', ip: '127.0.0.1', port: 1 })
  // Waits for the daemon's own apply at its start: a HAProxy that is just being started would outlive the test.
  await daemon.data('PUT', '/services/apply')
  const args = ['--state', daemon.state, '--check']
  test.match(await run(args), { code: 1, stderr: /another daemon is using/ })
  await daemon.kill('SIGKILL')
  test.match(await run(args), { code: 0, stdout: 'the stores are intact\n' })
})

t.test('SIGTERM ends with 0 and leaves no HAProxy behind in trial', async (test) => {
  const daemon = await daemonFixture(test)
  const pidFile = join(daemon.state, 'haproxy', 'haproxy.pid')
  const pid = Number(
    await until(
      'the pid file',
      async () => readIfThere(pidFile),
      (text) => text !== '',
    ),
  )
  test.equal(await daemon.kill('SIGTERM'), 0)
  test.same(commandLine(pid).filter(Boolean), [])
})

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

t.test(
  'a generated password is printed once and stored nowhere; no other user can read the state folder',
  async (test) => {
    const state = temporaryFolder(test, 'first')
    const start = async () => {
      const child = spawn(process.execPath, [...MAIN, '--state', state, '--listen', '127.0.0.1:0', '--no-demo'], {
        cwd: ROOT,
        env: { PATH: process.env['PATH'] },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      let output = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
      child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
      await until(
        'the greeting',
        async () => output,
        (text) => /Node/.test(text) && /Administrator|state in/.test(text),
      )
      await until(
        'the daemon to settle',
        async () => output,
        (text) => /HAProxy/.test(text),
      )
      child.kill('SIGTERM')
      await once(child, 'close')
      return output
    }
    const first = await start()
    const password = /Password\s+(\S+)\s+\(shown only once\)/.exec(first)?.[1] ?? ''
    test.equal(password.length, 20)
    const second = await start()
    test.notMatch(second, /Password/)
    const files = readdirSync(state, { recursive: true, encoding: 'utf8' }).map((name) => join(state, name))
    for (const file of files) {
      const stats = statSync(file, { throwIfNoEntry: false })
      if (stats === undefined || stats.isSocket()) continue
      if (stats.isFile()) test.notOk(readFileSync(file).includes(password), file)
      test.equal(stats.mode & 0o077, 0, `${file} has mode ${(stats.mode & 0o777).toString(8)}`)
    }
  },
)

t.test('a password that a failed start never showed is replaced by the next start', async (test) => {
  const daemon = await daemonFixture(test)
  const state = temporaryFolder(test, 'unseen')
  const failed = await run(['--state', state, '--listen', `127.0.0.1:${daemon.port}`, '--no-demo'])
  test.equal(failed.code, 1)
  test.notMatch(failed.stdout, /Password/)
  const child = spawn(process.execPath, [...MAIN, '--state', state, '--listen', '127.0.0.1:0', '--no-demo'], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  await until(
    'the password',
    async () => output,
    (text) => /Password\s+\S{20}\s+\(shown only once\)/.test(text),
  )
  child.kill('SIGTERM')
  await once(child, 'close')
})

t.test('the demonstration changes figures and history, and one call removes it', async (test) => {
  const daemon = new Daemon(temporaryFolder(test, 'demo'), ['--demo', '--http', `127.0.0.1:${await freePort()}`])
  test.teardown(() => daemon.end())
  await daemon.start()
  await daemon.login()
  const stats = `/${daemon.node}/layer7proxy/stats/frontends`
  const [frontend] = await until(
    'figures that move',
    () => daemon.data('GET', stats),
    (figures: { id: string; name: string; totalSessions: number | null }[]) => (figures[0]?.totalSessions ?? 0) > 20,
  )
  test.match(frontend, { name: 'demo-frontend' })
  const history = () => {
    const end = Math.floor(Date.now() / 1000)
    return daemon.data('GET', `${stats}/${frontend?.id}/history?start=${end - 60}&end=${end}`)
  }
  await until('history that moves', history, ({ series }) =>
    series.sessionRate.some((rate: number | null) => rate !== null && rate > 0),
  )

  // The removal does not apply another user's pending change.
  await daemon.data('POST', '/rbac/groups', { id: 'mine', name: 'mine' })
  test.equal((await daemon.call('DELETE', '/demo')).status, 200)
  test.same(await daemon.data('GET', '/layer7proxy/frontends'), [])
  test.same(await daemon.data('GET', '/ipvsDirector/rips'), [])
  test.match(await daemon.data('GET', '/services/pending'), { count: 1, changes: [{ resourceId: 'mine' }] })
  test.equal((await daemon.call('DELETE', '/demo')).status, 200, 'repeating it changes nothing')
  await daemon.kill('SIGKILL')
  await daemon.start()
  await daemon.login('admin@localhost', PASSWORD)
  test.same(await daemon.data('GET', '/layer7proxy/frontends'), [], 'it does not come back')
})
