import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { NO_STATE } from '../../../src/drivers/haproxy/carried-state.ts'
import { backend, frontend, realServer } from '../../fixtures/config.ts'
import { freePort } from '../../fixtures/traffic.ts'
import { viewOf } from '../../fixtures/view.ts'
import { until } from '../../fixtures/until.ts'
import { CarriedServers } from '../../../workers/host/carried-servers.ts'
import { SystemdUnit } from '../../../workers/host/systemd-unit.ts'
import { haproxyFixture } from './haproxy-fixture.ts'

t.test('a reload of a unit keeps servers down, and leaves no old states', async (test) => {
  const { apply, ask, paths } = haproxyFixture(test)
  const view = viewOf({
    realServers: [realServer('r1', { port: await freePort() })],
    l7Frontends: [frontend('f', 'b', { ports: String(await freePort()) })],
    l7Backends: [backend('b', ['r1'], { healthCheck: { type: 'tcp', interval: 60, fall: 1 } })],
  })
  test.match(await apply(undefined, view), { ok: true })
  await ask('@1 set server b/r1 health down')
  const isDown = async () => / r1 127\.0\.0\.1 0 0 /.test(await ask('@1 show servers state'))
  await until('a server that is down', isDown)
  const running = 'LoadState=loaded\nActiveState=active'
  const run = async () => ({ exitCode: 0, output: running })
  const unit = new SystemdUnit('haproxy.service', paths.masterSocket, run, new CarriedServers(paths))
  const pid = async () => /^Pid: (\d+)$/m.exec(await ask('@1 show info'))?.[1]
  const before = await pid()
  test.match(await unit.perform('reload', 10_000), { exitCode: 0 })
  await until('another process', async () => (await pid()) !== before)
  test.ok(await isDown())
  test.equal(readFileSync(paths.stateFile, 'utf8'), NO_STATE)
})

t.test('a reload continues without an answer', async (test) => {
  const { folder } = haproxyFixture(test)
  const stateFile = `${folder}/missing/state`
  const carried = new CarriedServers({ masterSocket: `${folder}/nobody`, configFile: `${folder}/none`, stateFile })
  test.equal(await carried.over(async () => 'reloaded'), 'reloaded')
  test.equal(readFileSync(stateFile, 'utf8'), NO_STATE)
})

t.test('servers that are neither checked nor named are not read, and old states are deleted', async (test) => {
  const { apply, paths } = haproxyFixture(test)
  const view = viewOf({ realServers: [realServer('r1')], l7Backends: [backend('b', ['r1'])] })
  test.match(await apply(undefined, view), { ok: true })
  writeFileSync(paths.stateFile, 'what a killed reload left')
  // A read would take as long as the silence lasts.
  const carried = new CarriedServers({ ...paths, masterSocket: `${paths.masterSocket}.nobody` })
  await carried.over(async () => test.equal(readFileSync(paths.stateFile, 'utf8'), NO_STATE))
  test.equal(readFileSync(paths.stateFile, 'utf8'), NO_STATE)
})
