import t from 'tap'
import { brokenOrders, dnsProblems } from '../../../src/health-checks/dns-script.ts'
import type { AcmeOrder } from '../../../src/model/acme.ts'
import type { HealthCheck } from '../../../src/model/health-check.ts'
import { acmeOrder } from '../../fixtures/acme.ts'
import { ownCheck } from '../../fixtures/health-check.ts'

const script = ownCheck('s', {
  services: ['dns-01'],
  parameters: [
    { name: 'zone', type: 'hostname', required: true },
    { name: 'token', type: 'secret', required: true },
  ],
})
const right = {
  challenge: 'dns-01',
  dns: { scriptId: 's', parameters: { zone: 'a.test' } },
  secrets: { token: 't' },
} as const
const order = (more: Partial<AcmeOrder>) => acmeOrder('o', 'a', { ...right, ...more })
const told = (more: Partial<AcmeOrder>, found: HealthCheck | undefined = script) =>
  dnsProblems(order(more), (id) => (id === 's' ? found : undefined)).map(({ field, message }) => `${field} ${message}`)

t.test('valid fields, and fields that an order may not have', async (test) => {
  test.same(told({}), [])
  const { dns: _, secrets: __, ...without } = order({})
  test.match(
    dnsProblems(without, () => script),
    [{ field: 'dns', message: /^is required with dns-01/ }],
  )
  test.match(told({ challenge: 'http-01' }), [/^dns is for dns-01 only/, /^secrets is for dns-01 only/])
  test.match(told({ dns: { scriptId: 'none' } }), [/^dns\.scriptId is none, which is not a script/])
  test.match(told({}, { ...script, services: ['layer-7'] }), [/^dns\.scriptId .* does not serve dns-01$/])
})

t.test('values are in the right place, and of the right type', async (test) => {
  const values = (parameters: Record<string, string>, secrets: Record<string, string>) =>
    told({ dns: { scriptId: 's', parameters }, secrets })
  test.match(values({ zone: 'a b' }, { token: 't' }), [/^dns\.parameters\.zone must be a host name/])
  test.match(values({}, {}), [/^dns\.parameters\.zone is required/, /^secrets\.token is required/])
  test.match(values({ zone: 'a.test', token: 't' }, {}), [/^dns\.parameters\.token is a secret: put it into secrets/])
  test.match(values({}, { zone: 'a.test', token: 't' }), [/^secrets\.zone is not a secret of this script/])
  test.match(values({ zone: 'a.test', more: '' }, { token: 't' }), [/^dns\.parameters\.more is not a parameter/])
})

t.test('a change of a script is checked against the orders that use it', async (test) => {
  const other = acmeOrder('p', 'a')
  test.same(brokenOrders(script, [order({}), other]), [])
  const changed = { ...script, parameters: [] }
  test.match(brokenOrders(changed, [other, order({})]), [
    { field: 'parameters', message: /^break the ACME order o \(o\)/ },
  ])
  test.match(brokenOrders({ ...script, services: ['layer-4'] }, [order({})]), [{ field: 'services' }])
})
