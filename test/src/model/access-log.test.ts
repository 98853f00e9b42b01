import t from 'tap'
import { Value } from 'typebox/value'
import { isForwarded, isLogged, LogSetting } from '../../../src/model/access-log.ts'

t.test('settings that keep lines', async (test) => {
  test.notOk(isLogged(undefined))
  test.notOk(isLogged({ enabled: false }))
  test.notOk(isLogged({ enabled: true, format: 'off' }))
  test.ok(isLogged({ enabled: true }))
})

t.test('settings that forward lines', async (test) => {
  for (const target of ['syslog', 'both'] as const) {
    test.ok(isForwarded({ enabled: true, target }))
    test.notOk(isForwarded({ enabled: false, target }))
    test.notOk(isForwarded({ enabled: true, target, format: 'off' }))
  }
  test.notOk(isForwarded({ enabled: true, target: 'store', format: 'combined' }))
  test.notOk(isForwarded({ enabled: true }))
})

t.test('values that become a word of haproxy.cfg are words', async (test) => {
  const fits = (more: object) => Value.Check(LogSetting, { enabled: true, ...more })
  test.ok(fits({ headers: ['User-Agent', 'x_y'], sample: 10 }))
  for (const name of ['', 'a b', 'a"', '%[src]', 'a\n', 'a#', "a'", 'a\\', 'a)', 'ä', 'x'.repeat(65)])
    test.notOk(fits({ headers: [name] }), JSON.stringify(name))
  for (const sample of [0, -1, 1.5, 1_000_001]) test.notOk(fits({ sample }))
  test.notOk(fits({ headers: ['a', 'a'] }))
})
