import t from 'tap'
import { LAYER_4_FIGURES, LAYER_7_FIGURES } from '../../../src/model/live-figures.ts'
import { LIVE_FIELDS } from '../../../src/stats/live-fields.ts'

t.test('the described figures are those that are read from HAProxy', async (test) => {
  for (const kind of ['frontend', 'backend', 'server'] as const) {
    const read = LIVE_FIELDS[kind].map(({ name }) => name)
    const applied = kind === 'server' ? ['state'] : []
    test.same(Object.keys(LAYER_7_FIGURES[kind]).sort(), [...read, ...applied].sort(), kind)
  }
})

t.test('every figure has a description', async (test) => {
  for (const figures of [...Object.values(LAYER_7_FIGURES), ...Object.values(LAYER_4_FIGURES)])
    for (const [name, schema] of Object.entries(figures)) test.match(schema, { description: /\w/ }, name)
})
