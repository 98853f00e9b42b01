import t from 'tap'
import { policyTables } from '../../../../src/drivers/iproute2/policy-tables.ts'
import { ipRoute } from './network-records.ts'

const policy = (id: string, source: string, destination = '') => ipRoute(id, { type: 'policy', source, destination })

t.test('a table depends on source and destination only, in any spelling, and is in its range', async (test) => {
  const one = policyTables([policy('1', '10.0.0.5')]).get('1')
  const among = policyTables([
    policy('a', '10.0.0.6'),
    policy('b', '10.0.0.5/32'),
    policy('c', '10.0.0.5', '10.9.0.0/16'),
  ])
  test.equal(among.get('b'), one)
  test.equal(new Set(among.values()).size, 3)
  for (const table of among.values()) test.ok(table >= 10_000 && table < 16_000_000)
})

t.test('a thousand sources have a thousand tables, whatever their order', async (test) => {
  const routes = Array.from({ length: 1000 }, (_, n) => policy(`r${n}`, `10.${n % 7}.${n >> 8}.${n & 255}`))
  const tables = policyTables(routes)
  test.equal(new Set(tables.values()).size, 1000)
  const turned = policyTables(routes.toReversed())
  for (const { id } of routes) if (tables.get(id) !== turned.get(id)) test.fail(id)
  test.end()
})

t.test('when two numbers collide, both have a table', async (test) => {
  // Found by trial: these two sources collide.
  const met = meeting()
  const tables = policyTables(met.map((source, index) => policy(String(index), source)))
  test.equal(new Set(tables.values()).size, 2)
  const alone = met.map((source) => policyTables([policy('x', source)]).get('x'))
  test.equal(alone[0], alone[1])
})

/** Two sources with equal numbers: among some ten thousand there is a pair. */
function meeting(): readonly string[] {
  const seen = new Map<number, string>()
  for (let n = 0; ; n += 1) {
    const source = `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}/32`
    const table = policyTables([policy('x', source)]).get('x') ?? 0
    const other = seen.get(table)
    if (other !== undefined) return [other, source]
    seen.set(table, source)
  }
}
