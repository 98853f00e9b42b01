/** A daemon whose disk fails for a while: it reports that, keeps running, and starts anew when the disk works. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { checkState } from '../../src/daemon/check.ts'
import { type Daemon, daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { freePort } from '../fixtures/traffic.ts'

const noTracing = process.getuid?.() === 0 ? false : 'needs root to trace a daemon that runs'

/** Makes writes of these files of the daemon fail from now on; the returned function repairs that. */
async function failing(test: Test, daemon: Daemon, files: readonly string[]): Promise<() => Promise<void>> {
  const paths = files.flatMap((file) => ['-P', join(daemon.state, file)])
  const fault = ['-e', 'trace=fdatasync,fsync', '-e', 'inject=fdatasync,fsync:error=EIO']
  const strace = spawn('strace', ['-f', '-p', String(daemon.pid), ...paths, ...fault], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(strace, 'exit')
  const mend = async () => {
    strace.kill('SIGTERM')
    await ended
  }
  test.teardown(mend)
  let said = ''
  strace.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  await until(
    'strace',
    () => said,
    (text) => text.includes('attached'),
  )
  return mend
}

t.test(
  'the configuration on a failing disk: writes are refused, reads work, and it restarts when the disk works',
  { skip: noTracing },
  async (test) => {
    const daemon = await daemonFixture(test)
    const rip = (name: string) => ({ body: { name, ip: '192.0.2.1', port: 80 } })
    const post = (name: string) => daemon.call('POST', '/ipvsDirector/rips', rip(name))
    test.equal((await post('before')).status, 201)
    const mend = await failing(test, daemon, ['config/data.mdb', 'probe'])
    const inDoubt = await post('in doubt')
    test.match(inDoubt, { status: 500, json: { code: 'INTERNAL', message: /unknown whether.*the daemon restarts/ } })
    const refused = await post('refused')
    test.match(refused, { status: 500, json: { code: 'INTERNAL', message: /Nothing was changed.*disk failed/ } })
    const names = async () => (await daemon.data('GET', '/ipvsDirector/rips')).map(({ name }: { name: string }) => name)
    test.same(await names(), ['before'], 'it answers, without the refused edits')
    const { attention } = await daemon.data('GET', '/overview')
    test.match(
      attention.filter(({ kind }: { kind: string }) => kind === 'disk'),
      [{ severity: 'critical', message: /disk failed/ }],
    )
    await until(
      'a look at the disk',
      () => daemon.stderr,
      (text) => text.includes('a store has failed'),
    )
    await mend()
    await until(
      'the end of the daemon',
      () => daemon.code,
      (code) => code !== undefined,
    )
    test.equal(daemon.code, 1, 'so that it is restarted')
    test.notMatch(daemon.stderr, /"defect"|unhandled/i)
    await daemon.start()
    await daemon.login()
    test.ok((await names()).includes('before'))
    test.notOk((await names()).includes('refused'))
    test.equal((await post('after')).status, 201)
    await daemon.kill('SIGTERM')
    test.same(await checkState(daemon.state), [])
  },
)

t.test(
  'an archive environment that refuses writes: it restarts as well, and the disk keeps what was answered',
  { skip: noTracing },
  async (test) => {
    const daemon = await daemonFixture(test)
    // The daemon's own checks of the disk succeed, as on a working disk.
    await failing(test, daemon, ['archive/data.mdb'])
    const { id: ripId } = await daemon.data('POST', '/ipvsDirector/rips', { name: 'one', ip: '127.0.0.1', port: 9 })
    const more = { mode: 'http', reals: [{ ripId }], healthCheck: { type: 'none' } }
    const { id: defaultBackendId } = await daemon.data('POST', '/layer7proxy/backends', { name: 'be', ...more })
    const listen = { mode: 'http', ip: '127.0.0.1', ports: String(await freePort()) }
    await daemon.data('POST', '/layer7proxy/frontends', { name: 'fe', ...listen, defaultBackendId })
    // New objects are stored at once.
    await daemon.data('PUT', '/services/apply')
    await until(
      'the end of the daemon',
      () => daemon.code,
      (code) => code !== undefined,
    )
    test.equal(daemon.code, 1, 'so that it is started again')
    test.match(daemon.stderr, /"why":"the disk failed .*the daemon restarts/)
    await daemon.start()
    await daemon.login()
    test.equal((await daemon.data('GET', '/layer7proxy/backends')).length, 1)
    await daemon.kill('SIGTERM')
    test.same(await checkState(daemon.state), [])
  },
)
