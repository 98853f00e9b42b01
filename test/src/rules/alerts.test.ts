import { readFileSync } from 'node:fs'
import t from 'tap'
import type { AlertRule, AlertTarget, AlertWhen } from '../../../src/model/alerts.ts'
import { nameBasedId } from '../../../src/base/ids.ts'
import { EVENT_STATES } from '../../../src/model/job.ts'
import {
  nameTest,
  objectProblems,
  ruleProblems,
  stateProblems,
  targetProblems,
  verifyAlerts,
} from '../../../src/rules/alerts.ts'
import { alertRule, chat } from '../../fixtures/alerts.ts'
import { backend, frontend, l4Backend, l4Frontend, realServer } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

const target = (more: Partial<AlertTarget>): readonly string[] => {
  const { id: _, url: __, ...fields } = chat()
  return targetProblems({ ...fields, ...more }).map(({ field, message }) => `${field} ${message}`)
}
const rule = (when: AlertRule['when'], more: Partial<AlertRule> = {}): readonly string[] =>
  ruleProblems(alertRule(when, more)).map(({ field, message }) => `${field} ${message}`)

t.test('a target has the fields of its type', (test) => {
  test.same(target({ type: 'mail' }), [
    'host is required for a target of type mail',
    'from is required for a target of type mail',
    'to is required for a target of type mail',
  ])
  test.match(target({ type: 'webhook', url: 'https://a.test/', host: 'a' }), [
    'host is not a field of a target of type webhook',
  ])
  test.same(target({ type: 'syslog', host: 'a.test' }), [])
  test.match(target({ type: 'syslog', host: 'a b', transport: 'starttls' }), [
    /^host is neither/,
    /^transport is not available for syslog/,
  ])
  test.end()
})

t.test('without TLS nothing is checked, and no password is sent', (test) => {
  const mail = { type: 'mail', host: 'a.test', from: 'a@b.test', to: ['c@d.test'] } as const
  const problems = target({
    ...mail,
    to: [...mail.to],
    transport: 'tcp',
    username: 'u',
    password: 'p',
    caCertificate: 'x',
  })
  test.match(problems, [/^caCertificate/, /^caCertificate needs TLS/, /^password needs TLS/])
  test.match(target({ ...mail, to: [...mail.to], username: 'u' }), [/^password is required: username and password/])
  test.end()
})

t.test('SNMP of each version authenticates its sender differently', (test) => {
  const snmp = { type: 'snmp', host: '192.0.2.1' } as const
  test.match(target(snmp), [/^username is required for version 3/, /^authPassphrase is required/])
  test.match(target({ ...snmp, username: 'u', authPassphrase: 'short' }), [/^authPassphrase is too short/])
  test.same(target({ ...snmp, username: 'u', authPassphrase: 'long enough' }), [])
  test.match(target({ ...snmp, version: '2c', username: 'u' }), [
    /^community is required/,
    /^username is not a field of version 2c/,
  ])
  test.end()
})

t.test('headers of a webhook may not concern its end or its signature', (test) => {
  const headers = [
    { name: 'Content-Length', value: '1' },
    { name: 'webhook-id', value: '1' },
    { name: 'X-A', value: '1' },
    { name: 'x-a', value: 'é😀' },
  ]
  const found = target({ type: 'webhook', url: 'https://a.test/', headers })
  test.match(found, [
    /^headers.0.name is Content-Length/,
    /^headers.1.name/,
    /^headers.3.name occurs twice/,
    /^headers.3.value/,
  ])
  test.end()
})

t.test('a condition has the fields of its type, and a threshold an existing figure', (test) => {
  test.match(rule({ type: 'threshold' }), [/^when.object is required/, /^when.metric/, /^when.value/])
  const threshold = { type: 'threshold', object: 'frontend', value: 1 } as const
  test.same(rule({ ...threshold, metric: 'currentSessions' }), [])
  for (const metric of ['status', 'nothing', 'currentQueue'])
    test.match(
      rule({ ...threshold, metric }),
      [/^when.metric is not a figure of a frontend of layer 7: available are currentSessions/],
      metric,
    )
  test.same(rule({ ...threshold, object: 'backend', layer: 4, metric: 'realsUp' }), [])
  test.match(
    rule({ ...threshold, object: 'backend', layer: 4, metric: 'realsTotal' }),
    [/^when.metric/],
    'the configured ones',
  )
  test.match(rule({ type: 'disk', value: 100 }), [/^when.value/])
  test.match(rule({ type: 'certificateEnd', value: 0 }), [/^when.value/])
  test.match(rule({ type: 'serverDown', ids: ['a'], names: 'b' }), [/^when.names and ids exclude/])
  test.match(rule({ type: 'cluster', value: 1 }), [/^when.value is not a field of a condition of type cluster/])
  test.match(rule({ type: 'cluster' }, { repeatEvery: 59 }), [/^repeatEvery must be at least 60/])
  test.same(rule({ type: 'cluster' }, { repeatEvery: 0 }), [])
  test.end()
})

t.test('a rule names states that its events have', (test) => {
  const told = (...states: readonly string[]) =>
    stateProblems({ type: 'event', events: ['apply', 'login'], states: [...states] }).map(
      ({ field, message }) => `${field} ${message}`,
    )
  test.same(told('applied', 'refused'), [])
  test.match(told('refused', 'up'), [/^when.states.1 is not a state of apply or login, which has: applied, .*refused/])
  test.same(stateProblems({ type: 'event', events: ['node'] }), [])
  test.same(stateProblems({ type: 'disk', states: ['x'] }), [], 'another problem')
  const document =
    readFileSync(new URL('../../../docs/alerts.md', import.meta.url), 'utf8').split('| kind in ')[1] ?? ''
  for (const [kind, states] of Object.entries(EVENT_STATES)) {
    const row = new RegExp(`^\\| \`${kind}\` \\| (.*) \\|$`, 'm').exec(document)?.[1] ?? ''
    const named = row.replaceAll(/ \(.*?\)|for names: /g, '').split(/[,;] /)
    test.same(named, states, `${kind} in the document`)
  }
  test.end()
})

t.test('a rule names objects that exist', (test) => {
  const view = viewOf({
    realServers: [realServer('r'), realServer('s')],
    l7Backends: [backend('b7', ['r'])],
    l4Backends: [l4Backend('b4', ['s'])],
    l7Frontends: [frontend('f7', 'b7')],
    l4Frontends: [l4Frontend('f4', 'b4')],
  })
  const unknown = (when: AlertWhen, known?: readonly string[]) =>
    objectProblems(when, view.get.bind(view), known).map(({ field }) => field)
  const figure = { type: 'threshold', metric: 'currentSessions', value: 1 } as const
  test.same(unknown({ ...figure, object: 'frontend', ids: ['f7', 'f4', 'b7'] }), ['when.ids.1', 'when.ids.2'])
  test.same(unknown({ ...figure, object: 'frontend', layer: 4, ids: ['f7', 'f4'] }), ['when.ids.0'])
  test.same(unknown({ ...figure, object: 'backend', ids: ['b7', 'b4'] }), ['when.ids.1'])
  test.same(unknown({ ...figure, object: 'server', ids: ['r', 'b7/r', 'b4/s', 'b7/s'] }), ['when.ids.2', 'when.ids.3'])
  test.same(unknown({ type: 'serverDown', ids: ['r', 'b7/r', 'b4/s', 'x'] }), ['when.ids.3'])
  test.same(unknown({ type: 'certificateEnd', ids: ['r', 'api-n', 'ca-0'] }), ['when.ids.0'])
  test.same(unknown({ type: 'serverDown', ids: ['x'] }, ['x']), [], 'named already')
  test.same(unknown({ type: 'serverDown', ids: [nameBasedId('x')] }), [], 'of an observed HAProxy')
  test.same(unknown({ type: 'disk' }), [])
  test.end()
})

t.test('a backup is checked against the same rules', (test) => {
  const { url: _, ...unplaced } = chat()
  const view = viewOf({ alertTargets: [unplaced], alertRules: [alertRule({ type: 'disk', value: 500 })] })
  test.match(
    [...verifyAlerts(view)],
    [
      { section: 'alertTargets', id: 'target-1', field: 'url' },
      { section: 'alertRules', id: 'rule-1', field: 'when.value' },
    ],
  )
  test.end()
})

t.test('names are compared whole, regardless of case, and * matches anything', (test) => {
  const fitting = [
    ['web1', 'WEB1'],
    ['web*', 'web'],
    ['*web*', 'a-web-b'],
    ['a*b*c', 'a1b2c'],
    ['*', ''],
    ['a*a', 'aa'],
  ] as const
  const others = [
    ['web1', 'web12'],
    ['web*', 'aweb'],
    ['a*b*c', 'a1c2b'],
    ['a*a', 'a'],
    ['*.x', 'axx'],
  ] as const
  for (const [pattern, name] of fitting) test.ok(nameTest(pattern)(name), `${pattern} ${name}`)
  for (const [pattern, name] of others) test.notOk(nameTest(pattern)(name), `${pattern} ${name}`)
  test.notOk(nameTest('*a'.repeat(60))(`${'a'.repeat(120)}b`), 'with backtracking, this would take years')
  test.end()
})
