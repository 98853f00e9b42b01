import t from 'tap'
import { Compile } from 'typebox/compile'
import { Attention, ATTENTION_KINDS, LayerOverview } from '../../../src/model/overview.ts'

const NONE = { total: 0, up: 0, down: 0 }
const REALS = { ...NONE, checking: 0, drained: 0, halted: 0, unknown: 0 }
const TRAFFIC = { sessions: 1.5, newPerSecond: null, requestsPerSecond: 0, bytesInPerSecond: null }

t.test('a layer: unknown values are null, and nothing is left out', async (test) => {
  const schema = Compile(LayerOverview)
  const layer = {
    problem: null,
    frontends: NONE,
    backends: NONE,
    reals: REALS,
    traffic: { ...TRAFFIC, bytesOutPerSecond: 7 },
  }
  test.ok(schema.Check(layer))
  test.notOk(schema.Check({ ...layer, traffic: TRAFFIC }))
  test.notOk(schema.Check({ ...layer, reals: NONE }))
})

t.test('items for a person are of a known kind', async (test) => {
  const schema = Compile(Attention)
  const one = { severity: 'critical', message: 'm', resource: '', resourceId: '', name: '' }
  for (const kind of ATTENTION_KINDS) test.ok(schema.Check({ ...one, kind }))
  test.notOk(schema.Check({ ...one, kind: 'weather' }))
})
