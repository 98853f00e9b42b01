import { execFile } from 'node:child_process'
import { chmodSync, existsSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { temporaryFolder } from '../fixtures/folder.ts'
import { fulcrum } from '../fixtures/cli.ts'
import { Daemon, daemonFixture } from '../fixtures/daemon.ts'

const run = promisify(execFile)
const FULCRUM = fileURLToPath(new URL('../../systemd/fulcrum', import.meta.url))
const AS_NOBODY = ['--reuid=65534', '--regid=65534', '--clear-groups']

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const envOf = (state: string) => ({ HOME: '/nonexistent', FULCRUM_URL: `unix:${join(state, 'api.sock')}` })
const asRoot = (state: string, ...args: readonly string[]) => fulcrum(args, envOf(state))

/** Runs the program itself as the user nobody. */
async function asNobody(state: string, ...args: readonly string[]): Promise<Ended> {
  const env = { PATH: process.env['PATH'], ...envOf(state) }
  return run('setpriv', [...AS_NOBODY, FULCRUM, ...args], { env }).then(
    (ended) => ({ code: 0, ...ended }),
    (error: unknown) => error as Ended,
  )
}

let shared: Daemon | undefined
async function aDaemon(): Promise<Daemon> {
  shared ??= await daemonFixture(t)
  return shared
}

t.test('root needs no login, and is recorded as root in the audit log', async (test) => {
  const daemon = await aDaemon()
  const local = (...args: readonly string[]) => asRoot(daemon.state, ...args)
  test.match(await local('status'), { exit: 0, out: /There are no services yet/ })
  const body = '{name: web1, ip: 192.0.2.1, port: 80}'
  test.match(await local('api', 'POST', '/ipvsDirector/rips', '-b', body), { exit: 0 })
  test.match(await local('server', 'drain', 'web1'), { exit: 1, err: 'web1 is pending (its creation, by local root)' })
  test.match(await local('apply', '--yes'), { exit: 0 })
  test.match(await local('server', 'drain', 'web1'), { exit: 0 })
  const [entry] = await daemon.data('GET', '/audit?endpoint=services.apply&limit=1')
  test.match(entry, { by: 'local root', address: 'local', outcome: 'done' })
  const [revision] = await daemon.data('GET', '/revisions?limit=1')
  test.match(revision, { by: 'local root' })
  test.match(await local('api', '/localUsers/me'), { exit: 1, err: /not for API tokens or local root/ })
  test.match(await local('logout'), { exit: 1, err: /needs no login/ })
  test.notMatch((await local('export')).out, /\$schema/, 'no editor can download it from there')
  const wrong = await local('api', 'POST', '/token', '-b', '{email: admin@localhost, password: wrong}')
  test.match(wrong.err, /INVALID_CREDENTIALS/, 'it is a socket of the API like the others')
})

const apart = { skip: process.getuid?.() === 0 ? false : 'needs root, to be somebody else' }
t.test('no other user is admitted', apart, async (test) => {
  const daemon = await aDaemon()
  // Only the mode of the socket counts then, as in /run/fulcrum, which other users may traverse.
  chmodSync(daemon.state, 0o711)
  test.equal(statSync(join(daemon.state, 'api.sock')).mode & 0o777, 0o700)
  const refused = await asNobody(daemon.state, 'api', 'DELETE', '/ipvsDirector/rips/web1')
  test.match(refused, { code: 1, stderr: /permission denied/, stdout: '' })
  const noted = await daemon.data('GET', '/audit?endpoint=realServers.delete')
  test.same(noted, [], 'nothing of the request has arrived')
})

t.test('the socket of a killed daemon is replaced, and that of a running one is not', async (test) => {
  const daemon = new Daemon(temporaryFolder(test, 'daemon'), ['--no-demo'])
  test.teardown(() => daemon.end())
  const socket = join(daemon.state, 'api.sock')
  await daemon.start()
  const second = new Daemon(daemon.state, ['--no-demo'])
  await test.rejects(second.start(), /another daemon is using it/)
  test.match(await asRoot(daemon.state, 'api', '/services/pending'), { exit: 0 })
  await daemon.kill('SIGKILL')
  test.ok(existsSync(socket))
  test.match(await asRoot(daemon.state, 'status'), { exit: 3, err: /nothing listens there/ })
  await daemon.start()
  test.match(await asRoot(daemon.state, 'api', '/services/pending'), { exit: 0 })
  // A connected client does not delay the end.
  const idle = connect(socket)
  test.teardown(() => idle.destroy())
  await daemon.kill('SIGTERM')
  test.notOk(existsSync(socket))
  test.match(await asRoot(daemon.state, 'status'), { exit: 3, err: /the socket does not exist/ })
})
