import t from 'tap'
import { haproxyDriver } from '../../../../src/drivers/haproxy/driver.ts'
import { onOwnLoopback } from '../../../../src/drivers/haproxy/own-loopback.ts'
import { backend, frontend, realServer } from '../../../fixtures/config.ts'
import { PATHS, type Records, viewOf } from './records.ts'

const driver = onOwnLoopback(haproxyDriver(PATHS), '127.0.0.3')
const at = (...places: readonly (readonly [ip: string, ports: string, enabled?: boolean])[]): Records => ({
  realServers: [realServer('r', { ip: '127.0.0.1' })],
  l7Backends: [backend('b', ['r'])],
  l7Frontends: places.map(([ip, ports, enabled = true], index) => frontend(`f${index}`, 'b', { ip, ports, enabled })),
})
const fileOf = (records: Records) => driver.render(viewOf(records))[0]?.content ?? ''

t.test('each node listens on its own address; real servers stay where they are', async (t) => {
  const text = fileOf(at(['127.0.0.1', '80'], ['0.0.0.0', '81-82']))
  t.match(text, /bind 127\.0\.0\.3:80\n/)
  t.match(text, /bind 127\.0\.0\.3:81-82\n/)
  t.notMatch(text, /bind (127\.0\.0\.1|0\.0\.0\.0):/)
  t.match(text, /server .* 127\.0\.0\.1:/)
})

t.test('ports are tested where they are served', async (t) => {
  const steps = driver.plan(viewOf(at()), viewOf(at(['127.0.0.1', '80'])), { atLeast: 'runtime' })
  t.match(steps[0], { kind: 'check', ports: [{ ip: '127.0.0.3', port: 80 }] })
  const same = viewOf(at(['0.0.0.0', '80']))
  t.same(driver.plan(same, viewOf(at(['0.0.0.0', '80'])), { atLeast: 'runtime' }), [])
})

t.test('an address that all would share is refused, unless it is unused', async (t) => {
  const problems = (records: Records) => driver.verify(viewOf(records)).map(({ id, field }) => `${id}.${field}`)
  t.same(problems(at(['127.0.0.1', '80'], ['0.0.0.0', '81'], ['192.0.2.1', '80', false])), [])
  t.same(problems(at(['127.0.0.2', '80'], ['192.0.2.1', '80'], ['::', '80'])), ['f0.ip', 'f1.ip', 'f2.ip'])
  t.match(driver.verify(viewOf(at(['127.0.0.2', '80'])))[0]?.message, /use 127\.0\.0\.1/)
  t.same(problems(at(['127.0.0.1', '80'], ['0.0.0.0', '80'])).length, 1, 'one port twice')
})

t.test('the rest is like in any driver', async (t) => {
  const [before, after] = [at(['127.0.0.1', '80']), at(['127.0.0.1', '81'])]
  const [old, now] = [before.l7Frontends?.[0], after.l7Frontends?.[0]]
  const change = { section: 'l7Frontends', id: 'f0', before: old, after: now } as const
  t.equal(driver.effectOf(change, viewOf(before), viewOf(after)), 'reload')
  const line =
    fileOf(after)
      .split('\n')
      .findIndex((text) => text.includes('bind 127.0.0.3:81')) + 1
  const said = `[ALERT] config : parsing [${PATHS.configFile}.candidate:${line}] : 'bind' : something`
  t.match(driver.diagnose(said, viewOf(after))[0], { section: 'l7Frontends', id: 'f0' })
})
