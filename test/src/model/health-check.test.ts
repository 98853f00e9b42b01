import t from 'tap'
import { Value } from 'typebox/value'
import { HealthCheckSetting, isBuiltIn, isHostName, ParameterValues } from '../../../src/model/health-check.ts'

t.test('values are lines of text under the names of parameters, and nothing else', (test) => {
  test.ok(Value.Check(ParameterValues, { path: '/x', max2: '' }))
  for (const wrong of [{ 'a-b': 'x' }, { '': 'x' }, { '../x': 'x' }, { toString: 1 }, { a: 'x\ny' }, { a: 1 }, ['x']]) {
    test.notOk(Value.Check(ParameterValues, wrong), JSON.stringify(wrong))
  }
  test.end()
})

t.test('the health checks of a backend', (test) => {
  test.ok(
    Value.Check(HealthCheckSetting, { type: 'script', id: 'ldap', parameters: { port: '389' }, interval: 5, fall: 2 }),
  )
  for (const wrong of [
    { type: 'smtp' },
    { type: 'tcp', id: '' },
    { type: 'script', id: 'a b' },
    { type: 'tcp', fall: 0 },
  ]) {
    test.notOk(Value.Check(HealthCheckSetting, wrong), JSON.stringify(wrong))
  }
  test.end()
})

t.test('names of hosts, and of built-in checks', (test) => {
  for (const name of ['a', 'web-1.example.org', '192.0.2.1']) test.ok(isHostName(name), name)
  for (const name of ['', '-a', 'a..b', '1.2.3', '256.1.1.1', 'a_b', 'a b']) test.notOk(isHostName(name), name)
  test.ok(isBuiltIn('mysql'))
  test.notOk(isBuiltIn('own'))
  test.end()
})
