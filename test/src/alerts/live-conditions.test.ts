import t from 'tap'
import { choiceOf, LiveConditions } from '../../../src/alerts/live-conditions.ts'
import type { Met } from '../../../src/alerts/met.ts'
import type { AlertRule } from '../../../src/model/alerts.ts'
import type { ObjectNames } from '../../../src/stats/names.ts'
import type { OnFound, Watched } from '../../../src/stats/live-scan.ts'
import { alertRule } from '../../fixtures/alerts.ts'

const names: ObjectNames = {
  version: 1,
  frontends: () => [{ id: 'fe', name: 'shop' }],
  backends: () => [
    {
      id: 'be',
      name: 'web',
      reals: [
        { ripId: 'r1', name: 'web1' },
        { ripId: 'r2', name: 'db1' },
      ],
    },
  ],
  frontend: () => undefined,
  backend: () => undefined,
  backendsOfRip: () => undefined,
}
const threshold = (id: string, value: number, more: Partial<AlertRule['when']> = {}) =>
  alertRule({ type: 'threshold', object: 'server', metric: 'currentSessions', value, ...more }, { id })

/** Returns the matches of rules in given figures. */
function look(
  rules: readonly AlertRule[],
  figures: readonly (readonly [string, number, string, string])[],
  layer: 4 | 7 = 7,
) {
  const asked: Watched[] = []
  const scan = (watched: readonly Watched[], found: OnFound) => {
    asked.push(...watched)
    for (const one of watched)
      for (const [column, value, proxy, server] of figures)
        if (column === one.column && (value > one.above || value < one.below)) found(one, value, proxy, server)
    return true
  }
  const met: Met[] = []
  new LiveConditions({ layer, names, scan }, rules).look((one) => met.push(one))
  return { asked, met: met.map(({ rule, key }) => `${rule.id} ${key}`), texts: met.map(({ text }) => text) }
}

t.test('rules about one figure are one query, whose bounds cover all of them', (test) => {
  const rules = [
    threshold('ten', 10),
    threshold('five', 5),
    threshold('below', 1, { is: 'below' }),
    threshold('below2', 2, { is: 'below' }),
  ]
  const { asked, met, texts } = look(rules, [
    ['scur', 7, 'be', 'r1'],
    ['scur', 1, 'be', 'r2'],
    ['scur', 3, 'be', 'r2'],
  ])
  test.same(asked, [{ kind: 'server', column: 'scur', above: 5, below: 2 }])
  test.same(met, ['five 7/server/be/r1', 'below2 7/server/be/r2'])
  test.equal(texts[0], 'currentSessions of web/web1 is 7, above 5')
  test.end()
})

t.test('objects are chosen by id, also the id of a real server alone, or by name', (test) => {
  const figures = [
    ['scur', 9, 'be', 'r1'],
    ['scur', 9, 'be', 'r2'],
    ['scur', 9, 'gone', 'r2'],
  ] as const
  test.same(look([threshold('x', 1, { ids: ['r2'] })], figures).met, ['x 7/server/be/r2'])
  test.same(look([threshold('x', 1, { ids: ['be/r1'] })], figures).met, ['x 7/server/be/r1'])
  test.same(look([threshold('x', 1, { names: 'WEB/web*' })], figures).met, ['x 7/server/be/r1'])
  test.ok(choiceOf(threshold('x', 1))({ type: 'server', id: 'a', name: '' }))
  test.end()
})

t.test('servers that are down are a query of both layers', (test) => {
  const rule = alertRule({ type: 'serverDown' })
  const { asked, met, texts } = look([rule], [['status', 1, 'be', 'r1']])
  test.match(asked, [{ column: 'status', isDown: true }])
  test.same([met, texts], [['rule-1 7/server/be/r1'], ['web/web1 is down: its health checks fail']])
  test.same(look([rule], [['status', 1, 'be', 'r1']], 4).met, ['rule-1 4/server/be/r1'])
  test.same(look([alertRule({ type: 'serverDown', layer: 4 })], [['status', 1, 'be', 'r1']], 7).asked, [])
  test.end()
})

t.test('Layer 4 names its figures as the API does', (test) => {
  const { asked } = look([threshold('x', 0, { layer: 4, object: 'backend', metric: 'realsUp', is: 'below' })], [], 4)
  test.match(asked, [{ kind: 'backend', column: 'realsUp' }])
  test.end()
})

t.test('without figures the state is unknown', (test) => {
  const rule = threshold('x', 1)
  const conditions = new LiveConditions({ layer: 7, names, scan: () => false }, [rule])
  test.same(
    conditions.look(() => test.fail()),
    [{ ruleId: 'x', layer: 7 }],
    'of this layer',
  )
  test.end()
})
