import t from 'tap'
import { checkFrom } from '../../../src/health-checks/built-in.ts'
import { brokenBy, checkProblems, checkSettingProblems, valueProblems } from '../../../src/health-checks/rules.ts'
import type { CheckService, HealthCheckSetting } from '../../../src/model/health-check.ts'
import { backend } from '../../fixtures/config.ts'
import { ownCheck } from '../../fixtures/health-check.ts'
import { viewOf } from '../../fixtures/view.ts'

const own = ownCheck('own', {
  services: ['layer-7'],
  parameters: [
    { name: 'host', type: 'hostname', required: true },
    { name: 'port', type: 'port', default: '80' },
  ],
})
const checkOf = checkFrom((id) => (id === 'own' ? own : undefined))
const problems = (setting: HealthCheckSetting, service: CheckService = 'layer-7') =>
  checkSettingProblems(setting, service, checkOf).map(({ field, message }) => `${field} ${message}`)

t.test('type script needs an id, and the script exists', async (test) => {
  test.match(problems({ type: 'script' }), [/^healthCheck\.id is required/])
  test.match(problems({ type: 'script', id: 'gone' }), [/^healthCheck\.id is gone, but there is no/])
  test.strictSame(problems({ type: 'script', id: 'ping' }), [])
})

t.test('other types have neither id nor parameters', async (test) => {
  for (const type of ['tcp', 'http', 'https', 'none'] as const) {
    const found = problems({ type, id: 'own', parameters: { host: 'h' } })
    test.match(found, [/^healthCheck\.id is for type script only/, /^healthCheck\.parameters is for type script only/])
    test.strictSame(problems({ type }), [])
  }
})

t.test('the script serves the layer', async (test) => {
  const setting = { type: 'script', id: 'own', parameters: { host: 'h' } } as const
  test.strictSame(problems(setting), [])
  test.match(problems(setting, 'layer-4'), [/^healthCheck\.id .* does not serve layer-4/])
})

t.test('every required parameter has a value, unknown names are refused, values fit: all at once', async (test) => {
  test.match(problems({ type: 'script', id: 'own', parameters: { port: '0', x: '' } }), [
    /^healthCheck\.parameters\.port must be a port/,
    /^healthCheck\.parameters\.x is not a parameter/,
    /^healthCheck\.parameters\.host is required/,
  ])
  test.match(valueProblems({ id: 'own', parameters: [] }, { constructor: 'x' }), [{ name: 'constructor' }])
})

t.test('a range of statuses from high to low is empty', async (test) => {
  test.match(problems({ type: 'http', expect: '200,399-200' }), [/^healthCheck\.expect has the range 399-200/])
  test.strictSame(problems({ type: 'http', expect: '200-200,404' }), [])
})

t.test('http as a script accepts the same as http as a type', async (test) => {
  for (const id of ['http', 'https']) {
    const parameters = { path: '/a b', host: '%[env(PATH)]', expect: '200 on-error x' }
    test.match(problems({ type: 'script', id, parameters }), [
      /^healthCheck\.parameters\.path must/,
      /^healthCheck\.parameters\.host must/,
      /^healthCheck\.parameters\.expect must/,
    ])
    const good = { path: '/a?b=%20', host: 'h:81', expect: '200-299,304', text: '100 %' }
    test.strictSame(problems({ type: 'script', id, parameters: good }), [])
  }
})

t.test('at Layer 4 one pass brings a server up', async (test) => {
  test.match(problems({ type: 'tcp', rise: 2 }, 'layer-4'), [/^healthCheck\.rise/])
  test.strictSame(problems({ type: 'tcp', rise: 1 }, 'layer-4'), [])
  test.strictSame(problems({ type: 'tcp', rise: 2 }), [])
})

t.test('the same against a configuration', async (test) => {
  const view = viewOf({ healthChecks: [own] })
  test.strictSame(checkProblems({ type: 'script', id: 'own', parameters: { host: 'h' } }, 'layer-7', view), [])
  test.equal(checkProblems({ type: 'script', id: 'other' }, 'layer-7', view).length, 1)
})

t.test('a change that breaks a backend names it', async (test) => {
  const user = backend('b', [], { name: 'shop', healthCheck: { type: 'script', id: 'own', parameters: { host: 'h' } } })
  const others = [backend('c', []), backend('d', [], { healthCheck: { type: 'script', id: 'ping' } })]
  test.strictSame(brokenBy(own, 'layer-7', [user, ...others]), [])
  const more = { ...own, parameters: [...own.parameters, { name: 'key', type: 'string', required: true } as const] }
  test.match(brokenBy(more, 'layer-7', [user]), [{ field: 'parameters', message: /shop \(b\).*: key is required/ }])
  test.match(brokenBy({ ...own, parameters: [] }, 'layer-7', [user]), [
    { field: 'parameters', message: /host is not a param/ },
  ])
  const elsewhere = { ...own, services: ['layer-4' as const] }
  test.match(brokenBy(elsewhere, 'layer-7', [user]), [
    { field: 'services', message: /must contain layer-7: the backend shop/ },
  ])
})
