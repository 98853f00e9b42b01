import { readFileSync } from 'node:fs'
import t from 'tap'
import { LAYER_7 } from '../../../src/exposition/layer7-families.ts'

const HEADER = readFileSync(new URL('../../fixtures/haproxy-2.6/show-stat.csv', import.meta.url), 'utf8')
  .split('\n', 1)[0]
  ?.slice(2)
  .split(',')

t.test('each is a column of HAProxy, and several columns of one metric differ in a label', async (test) => {
  for (const { labels, columns } of Object.values(LAYER_7))
    for (const { family, columns: own, isMilliseconds } of columns) {
      for (const { column } of own) test.ok(HEADER?.includes(column), column)
      test.equal(new Set(own.map(({ label }) => label)).size, own.length, family.name)
      const added = family.labels.slice(labels.length)
      for (const { label } of own) test.same(added, label === undefined ? [] : ['code'], family.name)
      test.equal(isMilliseconds === true, family.name.endsWith('_average_seconds'), family.name)
    }
})
