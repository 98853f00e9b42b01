import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { endpointId } from '../../../../src/api/access.ts'
import { endpoints } from '../../../../src/resources/index.ts'
import { endpointIdOf, type Right } from '../../../../src/ui/core/rights.ts'

const root = fileURLToPath(new URL('../../../../src/ui/', import.meta.url))
const code = globSync('**/*.{ts,tsx}', { cwd: root })
  .map((file) => readFileSync(`${root}${file}`, 'utf8'))
  .join('\n')
const named = new Set(
  [...code.matchAll(/(['"])((?:GET|POST|PUT|DELETE) \/[^'"]*)\1/g)].map(([, , right = '']) => right),
)

t.test('each right that the page uses is one of an endpoint', async (test) => {
  const known = new Set(endpoints.map(({ method, path }) => `${method} ${path}`))
  test.ok(named.size > 40)
  test.same(
    [...named].filter((right) => !known.has(right)),
    [],
  )
})

t.test('the page computes the same ids as the API', async (test) => {
  for (const { method, path } of endpoints)
    test.equal(await endpointIdOf(`${method} ${path}` as Right), endpointId({ method, path }))
})
