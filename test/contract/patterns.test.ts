import t from 'tap'
import { endpoints } from '../../src/resources/index.ts'

/** Yields every pattern anywhere below a schema. */
function patternsOf(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return []
  return Object.entries(schema).flatMap(([key, value]) =>
    key === 'pattern' && typeof value === 'string' ? [value] : patternsOf(value),
  )
}

const LENGTH = 1_000_000
/** Long texts that make an ambiguous regular expression try all ways: a quadratic one takes hours. */
const HOSTILE = ['a', ' ', '0', '1', '-', '.', ',', '200,', '1-1,', 'a@', '/', ':', 'A-', '[', '\t'].flatMap((part) =>
  ['\u0001', '!', ' ', '@', ','].map((end) => part.repeat(LENGTH / part.length) + end),
)

t.test('every pattern of the contract takes linear time on a text of the maximum body length', async (test) => {
  const patterns = new Set(endpoints.flatMap(({ body, query }) => [...patternsOf(body), ...patternsOf(query)]))
  test.ok(patterns.size > 5)
  for (const pattern of patterns) {
    const expression = new RegExp(pattern, 'u')
    for (const text of HOSTILE) expression.test(text)
    test.pass(pattern)
  }
})
