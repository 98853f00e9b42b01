/** The remains of a trial that is ended, and its output. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { commandLine, isEnding } from '../../workers/host/processes.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { Daemon } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { gone, masterOf, serving } from './serving-daemon.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A daemon's last output may be read after its end. */
const says = (daemon: Daemon, text: string) =>
  until(
    text,
    () => daemon.stdout,
    (all) => all.includes(text),
  )

t.test('Ctrl-C reaches the daemon twice, and HAProxy is ended', async (test) => {
  const { daemon, port, answers } = await serving(test)
  const master = await masterOf(daemon)
  // Once from the terminal, and once more from npm, which forwards its signals.
  process.kill(daemon.pid, 'SIGINT')
  test.equal(await daemon.kill('SIGINT'), 0)
  test.same(commandLine(master).filter(Boolean), [], 'no HAProxy is left')
  test.notOk(isEnding(master), 'nor its resources')
  test.notOk(await answers())
  await says(daemon, `\n  Stopped        HAProxy, which served 127.0.0.1:${port}\n`)
  test.match(daemon.stdout, /Stopped[^\n]*\n$/, 'and nothing after it')
})

t.test('a closed terminal, together with the reader of the output, ends HAProxy as well', async (test) => {
  const { daemon } = await serving(test)
  const master = await masterOf(daemon)
  daemon.hangUp()
  test.equal(await daemon.kill('SIGHUP'), 0)
  test.same(commandLine(master).filter(Boolean), [])
})

t.test('--keep leaves it serving, and the next start adopts it and ends it', async (test) => {
  const state = temporaryFolder(test, 'daemon')
  const { daemon, port, answers } = await serving(test, state, ['--keep'])
  const master = await masterOf(daemon)
  test.equal(await daemon.kill('SIGTERM'), 0)
  test.ok(await answers())
  await says(
    daemon,
    `  Still running  HAProxy, serving 127.0.0.1:${port}\n  To stop it     start with --state ${state} `,
  )
  const next = new Daemon(state, ['--no-demo'])
  test.teardown(() => next.end())
  await next.start()
  await next.login()
  await next.data('PUT', '/services/apply')
  test.equal(await masterOf(next), master, 'the same HAProxy, and no other')
  test.equal(await next.kill('SIGTERM'), 0)
  await gone(master)
})

t.test('a signal during the start ends what the start adopts', async (test) => {
  const { daemon } = await serving(test)
  const master = await masterOf(daemon)
  await daemon.kill('SIGKILL')
  test.not(commandLine(master).length, 0, 'a crash leaves it serving')
  const next = new Daemon(daemon.state, ['--no-demo'])
  test.teardown(() => next.end())
  const started = next.start()
  // By then, Node has read the sources, and the daemon the state folder.
  await until(
    'the lock of the next daemon',
    async () => next.holds(`${daemon.state}/lock`),
    (holds) => holds,
  )
  const [code] = await Promise.all([next.kill('SIGTERM'), started.catch(() => undefined)])
  test.equal(code, 0)
  await gone(master)
})

t.test('npm start in a terminal: one Ctrl-C', async (test) => {
  const state = temporaryFolder(test, 'npm')
  const args = ['start', '--', '--state', state, '--listen', '127.0.0.1:0', '--no-demo']
  // Its own process group, as a shell creates for a foreground job.
  const child = spawn('npm', args, { cwd: ROOT, detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  const daemon = new Daemon(state, [])
  test.teardown(() => daemon.end())
  const master = await until(
    'HAProxy',
    () => masterOf(daemon).catch(() => 0),
    (pid) => pid > 0,
  )
  process.kill(-(child.pid ?? 0), 'SIGINT')
  await once(child, 'close')
  await gone(master)
  test.match(output, /Stopped {8}HAProxy\n$/)
})
