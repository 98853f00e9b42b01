import { Compile } from 'typebox/compile'
import t from 'tap'
import { AlertRule, AlertTarget, Silence, TARGET_TYPES } from '../../../src/model/alerts.ts'
import { TARGET_FIELDS } from '../../../src/rules/alerts.ts'
import { alertRule, chat } from '../../fixtures/alerts.ts'

t.test('records fit their schemas, and accept no line break', (test) => {
  const [target, rule] = [Compile(AlertTarget), Compile(AlertRule)]
  test.ok(target.Check(chat()))
  test.notOk(target.Check(chat({ name: 'a\r\nb' })))
  test.notOk(target.Check(chat({ url: 'http://chat.test/' })), 'secrets are posted')
  test.notOk(target.Check(chat({ url: 'https://user@chat.test/' })))
  for (const to of ['a@b\r\nBcc: c@d', 'a b@c', 'a@b, c@d', '<a@b>', 'a@b>', ''])
    test.notOk(target.Check(chat({ to: [to] })), to)
  test.ok(target.Check(chat({ to: ['first.last+tag@mail.example.org'] })))
  test.ok(rule.Check(alertRule({ type: 'cluster' })))
  test.notOk(rule.Check(alertRule({ type: 'cluster' }, { repeatEvery: -1 })))
  test.end()
})

t.test('every field of a target belongs to a type, and every type is distinguished', (test) => {
  const fields = new Set(Object.values(TARGET_FIELDS).flatMap(({ needs, takes }) => [...needs, ...takes]))
  const own = new Set(['id', 'name', 'enabled', 'type'])
  test.same(
    [...fields].toSorted(),
    Object.keys(AlertTarget.properties)
      .filter((name) => !own.has(name))
      .toSorted(),
  )
  test.same(Object.keys(TARGET_FIELDS).toSorted(), [...TARGET_TYPES].toSorted())
  test.ok('endsAt' in Silence.properties)
  test.end()
})
