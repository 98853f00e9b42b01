import fc from 'fast-check'
import t from 'tap'
import { ownAppliance } from '../../../fixtures/shared-appliance.ts'

type Json = Readonly<Record<string, unknown>>
type Named = Readonly<Record<string, Json>>

const NAMES = ['alpha', 'beta', 'Gamma', 'delta "d"', 'ε', '__proto__', 'constructor', 'a.b/c']

/** Records under some of the names, each made by `make` from the earlier names. */
const named = (values: fc.Arbitrary<Json>): fc.Arbitrary<Named> =>
  fc
    .uniqueArray(fc.tuple(fc.constantFrom(...NAMES), values), { selector: ([name]) => name, maxLength: 4 })
    .map((entries) => Object.fromEntries(entries))

const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const tidy = (record: Json): Json =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))

const SERVER = fc
  .record({
    ip: fc.constantFrom('192.0.2.1', '2001:db8::1', 'web.test'),
    port: fc.constantFrom(80, 8080),
    weight: some(fc.integer({ min: 0, max: 256 })),
  })
  .map(tidy)

const backend = (servers: readonly string[], layer: 4 | 7) =>
  fc
    .record({
      ...(layer === 7
        ? { mode: fc.constantFrom('http', 'tcp'), timeoutServer: some(fc.integer({ min: 1, max: 99 })) }
        : {}),
      reals: some(
        fc
          .subarray([...servers])
          .map((chosen) => chosen.map((ripId, at) => ({ ripId, ...(at > 0 ? { weight: at } : {}) }))),
      ),
      healthCheck: some(fc.constantFrom({ type: 'none' }, { type: 'tcp', interval: 5 })),
    })
    .map(tidy)

const frontend = (backends: Named) =>
  fc
    .tuple(fc.constantFrom('http', 'tcp'), fc.integer({ min: 20_000, max: 29_999 }), some(fc.boolean()))
    .chain(([mode, port, enabled]) => {
      const fitting = Object.keys(backends).filter((name) => backends[name]?.['mode'] === mode)
      return some(fc.constantFrom(...fitting, ...(fitting.length === 0 ? [undefined] : []))).map((defaultBackendId) =>
        tidy({ mode, ip: '127.0.0.1', ports: String(port), enabled, defaultBackendId }),
      )
    })

/** Host names are for Layer 7 only. */
const addressed = (servers: Named) => Object.keys(servers).filter((name) => servers[name]?.['ip'] !== 'web.test')

const documents = (owner: string): fc.Arbitrary<Json> =>
  named(SERVER).chain((realServers) =>
    fc
      .tuple(named(backend(Object.keys(realServers), 7)), named(backend(addressed(realServers), 4)))
      .chain(([l7Backends, l4Backends]) =>
        named(frontend(l7Backends)).map((l7Frontends) => ({
          version: 1,
          owner,
          ...Object.fromEntries(
            Object.entries({ realServers, l4Backends, l7Backends, l7Frontends }).filter(
              ([, records]) => Object.keys(records).length > 0,
            ),
          ),
        })),
      ),
  )

/** Two frontends cannot listen on one port. */
const hasOwnPorts = ({ l7Frontends = {} }: { readonly l7Frontends?: Named }) => {
  const ports = Object.values(l7Frontends).map(({ ports: own }) => own)
  return new Set(ports).size === ports.length
}

/** Defaults of omitted fields, which an export leaves out. */
const DEFAULTS: Json = { weight: 100, enabled: true, reals: [], timeoutServer: 30 }
const exportedAs = (document: Json): Json =>
  Object.fromEntries(
    Object.entries(document).map(([section, records]) => [
      section,
      typeof records !== 'object'
        ? records
        : Object.fromEntries(
            Object.entries(Object(records)).map(([name, fields]) => [
              name,
              Object.fromEntries(
                Object.entries(Object(fields)).filter(
                  ([field, value]) => JSON.stringify(DEFAULTS[field]) !== JSON.stringify(value),
                ),
              ),
            ]),
          ),
    ]),
  )

t.test('random documents: the export equals the applied one, and planning it again finds nothing', async (test) => {
  const { call } = await ownAppliance(test)
  const plan = async (document: Json) => {
    const { json } = await call('POST', '/config/plan', { body: { document, prune: true } })
    if (json.data?.planId === undefined) throw new Error(JSON.stringify(json))
    return json.data
  }
  const apply = async (document: Json) => {
    const { planId } = await plan(document)
    const answer = await call('PUT', `/config/plans/${planId}/apply`)
    if (answer.status !== 200) throw new Error(answer.text)
  }
  const exported = async (owner: string) => (await call('GET', `/config/document?owner=${owner}`)).json.data
  const keep = { version: 1, owner: 'keeper', realServers: { kept: { ip: '192.0.2.77', port: 1 } } }
  await apply(keep)
  const wanted = documents('team').filter(hasOwnPorts)
  await fc.assert(
    fc.asyncProperty(wanted, wanted, async (first, second) => {
      await apply(first)
      await apply(second)
      test.same(await exported('team'), exportedAs(second))
      test.same((await plan(second)).changes, [], 'nothing is left to do')
      test.same(await exported('keeper'), keep, 'another owner has its records unchanged')
    }),
    { numRuns: Number(process.env['FULCRUM_TEST_DOCUMENTS'] ?? 12) },
  )
})
