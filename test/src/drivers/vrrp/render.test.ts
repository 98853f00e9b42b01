import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { instancesOf } from '../../../../src/drivers/vrrp/instances.ts'
import { ALIVE_TEXT, renderRelease, renderVrrp } from '../../../../src/drivers/vrrp/render.ts'
import { viewOf } from '../../../fixtures/view.ts'
import { pair, PAIR } from './vrrp-records.ts'

const instances = (more: Parameters<typeof pair>[0] = {}) =>
  instancesOf(viewOf(pair(more)), { nodeId: 'node', nodeIds: PAIR })

t.test('nodes announce only one address, however many there are', async (test) => {
  const text = renderVrrp(instances({ floating: ['10.0.0.100', '10.0.0.101'] }), [])
  test.match(text, /virtual_ipaddress \{\n +10\.0\.0\.100\/24 dev \S+\n +\}/)
  test.match(text, /virtual_ipaddress_excluded \{\n +10\.0\.0\.101\/24 dev \S+\n +\}/)
  test.notMatch(renderVrrp(instances(), []), 'excluded')
})

t.test('addresses stay where they are, or go back after a minute', async (test) => {
  test.match(renderVrrp(instances(), []), /^ {4}nopreempt$/m)
  test.match(renderVrrp(instances({ group: { preempt: true } }), []), /^ {4}preempt_delay 60$/m)
})

t.test('three advertisements take less than 0.6 s unless the group says otherwise', async (test) => {
  test.match(renderVrrp(instances(), []), /^ {4}advert_int 0\.19$/m)
  test.match(renderVrrp(instances({ group: { advertInterval: 1 } }), []), /^ {4}advert_int 1\.00$/m)
})

t.test('neighbours are reminded of at most twenty addresses a second', async (test) => {
  const refresh = (count: number) => {
    const floating = Array.from({ length: count }, (_, at) => `10.0.0.${100 + at}`)
    return /^ {4}vrrp_garp_master_refresh (\d+)$/m.exec(renderVrrp(instances({ floating }), []))?.[1]
  }
  test.same([1, 20, 21, 100].map(refresh), ['1', '1', '2', '5'])
})

t.test('addresses that keepalived may leave behind are listed for ip', async (test) => {
  test.equal(renderRelease(instances()), 'address delete 10.0.0.100/24 dev {interface:card-a}\n')
})

t.test('a program counts as running while it has its name and has not ended', async (test) => {
  const folder = mkdtempSync(join(tmpdir(), 'alive-'))
  test.teardown(() => rmSync(folder, { recursive: true }))
  const [program, pidFile] = [join(folder, 'alive'), join(folder, 'pid')]
  writeFileSync(program, ALIVE_TEXT, { mode: 0o755 })
  const alive = (...args: readonly string[]) =>
    new Promise<boolean>((resolve) => execFile('/bin/sh', [program, ...args], (error) => resolve(error === null)))
  const child = execFile('sleep', ['60'])
  const ended = new Promise((resolve) => child.once('exit', resolve))
  test.teardown(() => child.kill('SIGKILL'))
  test.notOk(await alive(`sleep:${pidFile}`), 'there is no file')
  writeFileSync(pidFile, `${child.pid}\n`)
  test.ok(await alive(`sleep:${pidFile}`))
  test.notOk(await alive(`haproxy:${pidFile}`), 'another program has the process id')
  child.kill('SIGKILL')
  await ended
  test.notOk(await alive(`sleep:${pidFile}`))
  test.ok(await alive(), 'nothing is required')
})
