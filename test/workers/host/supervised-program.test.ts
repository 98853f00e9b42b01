import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LinuxHost } from '../../../workers/host/linux-host.ts'
import { findProcesses } from '../../../workers/host/processes.ts'
import { SupervisedProgram } from '../../../workers/host/supervised-program.ts'
import { frontend } from '../../fixtures/config.ts'
import { viewOf } from '../../src/drivers/haproxy/records.ts'
import { hang } from '../../fixtures/hang.ts'
import { freePort } from '../../fixtures/traffic.ts'
import { until } from '../../fixtures/until.ts'
import { haproxyFixture } from './haproxy-fixture.ts'

t.test('a program that is not installed is named, with the command that installs it', async (t) => {
  const { folder, settings } = haproxyFixture(t)
  if (settings.layer7proxy.mode !== 'supervised') throw new Error('the fixture supervises')
  const never = async () => {
    throw new Error('nothing to start')
  }
  const missing = new SupervisedProgram({ ...settings.layer7proxy, program: join(folder, 'haproxy') }, never)
  t.equal(await missing.state(), 'missing')
  t.strictSame(await missing.perform('start', 5000), {
    exitCode: 127,
    output: 'haproxy is not installed: run "apt-get install haproxy" as root',
  })
})

t.test('a configuration that cannot start gives the reason', async (t) => {
  const { apply, host, folder } = haproxyFixture(t)
  const l7Frontends = [frontend('f', null, { ip: '192.0.2.77', ports: String(await freePort()) })]
  t.match(await apply(undefined, viewOf({ l7Frontends })), {
    ok: false,
    kind: 'unit',
    output: /did not start: exit code 1\n[^]*frontend f: cannot bind socket \(Cannot assign requested address\)/,
    undone: true,
  })
  t.equal(await host.unitState('layer7proxy'), 'stopped')
  t.notOk(existsSync(join(folder, 'haproxy.cfg')), 'the file is gone as well')
})

t.test('a HAProxy that died is a failure until it is started or stopped', async (t) => {
  const { apply, host, folder } = haproxyFixture(t)
  t.match(await apply(undefined, viewOf({})), { ok: true })
  const pid = Number(readFileSync(join(folder, 'haproxy.pid'), 'utf8'))
  process.kill(pid, 'SIGTERM')
  const isDead = async () => (await host.unitState('layer7proxy')) === 'failed'
  // While it ends, it runs without an answer.
  t.ok(await until('a failure', isDead))
  t.match(await host.unit('layer7proxy', 'reload', 10_000), { exitCode: 0 })
  await runs(t, host, 'a reload starts it')
})

t.test('the process of another program is never touched', async (t) => {
  const { host, folder } = haproxyFixture(t)
  writeFileSync(join(folder, 'haproxy.pid'), `${process.pid}\n`)
  t.match(await host.unit('layer7proxy', 'stop', 1000), { exitCode: 0 })
  t.pass('this process still lives')
  t.notOk(existsSync(join(folder, 'haproxy.pid')))
})

t.test('another host on the same folder adopts the running one, one on another folder does not', async (t) => {
  const { apply, host, settings, folder } = haproxyFixture(t)
  await apply(undefined, viewOf({}))
  const pid = readFileSync(join(folder, 'haproxy.pid'), 'utf8')
  const successor = new LinuxHost(settings, folder)
  await runs(t, successor)
  t.match(await successor.unit('layer7proxy', 'start', 5000), { exitCode: 0 })
  t.equal(readFileSync(join(folder, 'haproxy.pid'), 'utf8'), pid, 'the same HAProxy')
  t.equal(await haproxyFixture(t).host.unitState('layer7proxy'), 'stopped')
  await runs(t, host)
})

/** A look waits for an answer for a second or two; on a slow machine the next one may get it. */
async function runs(t: Test, host: LinuxHost, what = 'it serves') {
  const state = () => host.unitState('layer7proxy')
  t.equal(await until('an answer', state, (now) => now !== 'silent'), 'running', what)
}

/** Master and worker of this folder's HAProxy, from the kernel. */
const ours = (folder: string) => findProcesses((words) => words.includes(join(folder, 'haproxy.cfg')))

t.test('whichever of its files are missing, there is one HAProxy and it can be reloaded', async (t) => {
  const { apply, host, folder, paths } = haproxyFixture(t)
  const losses: Readonly<Record<string, () => void>> = {
    'the master socket': () => rmSync(paths.masterSocket),
    'the master socket and the pid file': () => {
      rmSync(paths.masterSocket)
      rmSync(join(folder, 'haproxy.pid'))
    },
    'the whole folder': () => {
      rmSync(folder, { recursive: true })
      mkdirSync(folder)
    },
  }
  t.match(await apply(undefined, viewOf({})), { ok: true })
  const pid = Number(readFileSync(join(folder, 'haproxy.pid'), 'utf8'))
  for (const [what, lose] of Object.entries(losses)) {
    lose()
    t.equal(await host.unitState('layer7proxy'), 'silent', what)
    const applied = await apply(undefined, viewOf({}))
    t.match(applied, { ok: true, warnings: [] }, JSON.stringify(applied))
    await runs(t, host, what)
    const masters = ours(folder).filter(({ parent }, _, all) => !all.some((other) => other.pid === parent))
    t.same(
      masters.map((master) => master.pid),
      [pid],
      `${what}: the same master, and no other`,
    )
  }
})

t.test('one with a hanging worker is silent; a reload replaces the worker and says so', async (t) => {
  const { apply, host, ask } = haproxyFixture(t)
  await apply(undefined, viewOf({}))
  const worker = Number((await ask('@1 show info')).match(/^Pid: (\d+)$/m)?.[1])
  await hang(worker)
  t.equal(await host.unitState('layer7proxy'), 'silent')
  const said = `a worker of HAProxy (process ${worker}) did not answer for 3 s and was killed`
  t.match(await apply(undefined, viewOf({})), { ok: true, warnings: [said] })
  t.throws(() => process.kill(worker, 0), { code: 'ESRCH' })
  await runs(t, host)
})

t.test('a client that has taken all places at the master blocks no reload', async (t) => {
  const { apply, host, ask, paths } = haproxyFixture(t)
  await apply(undefined, viewOf({}))
  const worker = Number((await ask('@1 show info')).match(/^Pid: (\d+)$/m)?.[1])
  await hang(worker)
  const sessions = Array.from({ length: 12 }, () => connect(paths.masterSocket))
  t.teardown(() => sessions.forEach((session) => session.destroy()))
  for (const session of sessions) session.on('error', () => undefined).end('@1 show info\n')
  await once(sessions[0]!, 'connect')
  t.match(await host.unit('layer7proxy', 'reload', 20_000), { exitCode: 0, output: /was killed/ })
  await runs(t, host)
})

t.test('a stop ends a hanging worker, and a hanging master is replaced by a reload', async (t) => {
  const { apply, host, folder } = haproxyFixture(t)
  await apply(undefined, viewOf({}))
  const hangAll = async () => {
    const all = ours(folder)
    t.equal(all.length, 2)
    for (const { pid } of all) await hang(pid)
    return all
  }
  await hangAll()
  t.equal(await host.unitState('layer7proxy'), 'silent')
  t.match(await host.unit('layer7proxy', 'reload', 12_000), {
    exitCode: 0,
    output: /did not stop within 5000 ms and was/,
  })
  await runs(t, host)
  await hangAll()
  t.match(await host.unit('layer7proxy', 'stop', 500), { exitCode: 0, output: /did not stop within 500 ms and was/ })
  t.same(ours(folder), [])
  t.equal(await host.unitState('layer7proxy'), 'stopped')
})
