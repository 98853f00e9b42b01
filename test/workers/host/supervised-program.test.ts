import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { LinuxHost } from '../../../workers/host/linux-host.ts'
import { SupervisedProgram } from '../../../workers/host/supervised-program.ts'
import { frontend } from '../../config-fixture.ts'
import { viewOf } from '../../src/drivers/haproxy/records.ts'
import { freePort } from '../../traffic-fixture.ts'
import { haproxyFixture } from './haproxy-fixture.ts'

t.test('a program that is not installed is named, with the command that helps', async (t) => {
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

t.test('a configuration that cannot start says why', async (t) => {
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
  while ((await host.unitState('layer7proxy')) === 'running') await new Promise(setImmediate)
  t.equal(await host.unitState('layer7proxy'), 'failed')
  t.match(await host.unit('layer7proxy', 'reload', 10_000), { exitCode: 0 })
  t.equal(await host.unitState('layer7proxy'), 'running', 'a reload starts it')
})

t.test('the pid of a stranger is never touched', async (t) => {
  const { host, folder } = haproxyFixture(t)
  writeFileSync(join(folder, 'haproxy.pid'), `${process.pid}\n`)
  t.match(await host.unit('layer7proxy', 'stop', 1000), { exitCode: 0 })
  t.pass('this process still lives')
  t.notOk(existsSync(join(folder, 'haproxy.pid')))
})

t.test('another host on the same folder adopts what runs, one on another folder does not', async (t) => {
  const { apply, host, settings, folder } = haproxyFixture(t)
  await apply(undefined, viewOf({}))
  const pid = readFileSync(join(folder, 'haproxy.pid'), 'utf8')
  const successor = new LinuxHost(settings.layer7proxy, folder)
  t.equal(await successor.unitState('layer7proxy'), 'running')
  t.match(await successor.unit('layer7proxy', 'start', 5000), { exitCode: 0 })
  t.equal(readFileSync(join(folder, 'haproxy.pid'), 'utf8'), pid, 'the same HAProxy')
  t.equal(await haproxyFixture(t).host.unitState('layer7proxy'), 'stopped')
  t.equal(await host.unitState('layer7proxy'), 'running')
})
