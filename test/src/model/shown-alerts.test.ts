import t from 'tap'
import { AlertRule, AlertTarget } from '../../../src/model/alerts.ts'
import { AlertShown, DeliveriesShown, TargetTested } from '../../../src/model/shown-alerts.ts'

t.test('shown alerts have no field of a target or rule that could be a secret', (test) => {
  const shown = [AlertShown, DeliveriesShown, TargetTested].flatMap(({ properties }) => Object.keys(properties))
  const stored = new Set(Object.keys(AlertTarget.properties).filter((name) => name !== 'id'))
  test.same(
    shown.filter((name) => stored.has(name)),
    [],
  )
  test.ok(Object.keys(AlertRule.properties).includes('severity') && shown.includes('severity'))
  test.end()
})
