import t from 'tap'
import type { Alert } from '../../../src/alerts/alert-book.ts'
import { type Kept, Queue } from '../../../src/alerts/outbox.ts'
import { deliveriesShown, shownAlert } from '../../../src/alerts/shown.ts'
import { alertMessage } from '../../fixtures/alert-targets.ts'
import { chat } from '../../fixtures/alerts.ts'
import { viewOf } from '../../fixtures/view.ts'

const ALERT: Alert = {
  id: 'a-1',
  key: 'k',
  ruleId: 'rule-1',
  ruleName: 'rule',
  severity: 'warning',
  kind: 'disk',
  object: { type: 'disk', id: 'n1', name: '/state' },
  text: 'full',
  value: 95,
  since: '2026-01-02T03:04:05.000Z',
  endedAt: null,
  count: 1,
  messages: ['message-1', 'gone'],
}
const AT = '2026-01-02T03:05:00.000Z'
const KEPT: Kept = {
  number: 1,
  message: alertMessage(),
  targets: { 'target-1': { outcome: 'waiting', at: AT }, lost: { outcome: 'dropped', at: AT, reason: '400' } },
}
const queue = Object.assign(new Queue(3, Date.parse(AT)), {
  failures: 2,
  lastError: 'refused',
  nextTry_ms: Date.parse(AT),
})
queue.waiting.push(KEPT)
const outbox = {
  message: (id: string) => (id === 'message-1' ? KEPT : undefined),
  queue: (id: string) => (id === 'target-1' ? queue : undefined),
}

t.test('an alert is shown with the results of its messages', (test) => {
  const shown = shownAlert(ALERT, undefined, outbox, viewOf({ alertTargets: [chat()] }))
  test.match(shown, { state: 'firing', objectId: 'n1', objectName: '/state', silenceId: null })
  test.match(shown.deliveries, [
    { targetName: 'the chat', outcome: 'waiting', tries: 2, nextTry: AT, reason: 'refused' },
    { targetName: 'lost', outcome: 'dropped', tries: 0, nextTry: null, reason: '400' },
  ])
  test.equal(Reflect.get(shown, 'key'), undefined)
  test.end()
})

t.test('a silence is named, unless the alert has ended', (test) => {
  const silence = {
    id: 's-1',
    ruleId: null,
    objectId: null,
    objectName: null,
    reason: '',
    by: '',
    startedAt: '',
    endsAt: '',
  }
  test.match(shownAlert(ALERT, silence, outbox, viewOf({})), { state: 'silenced', silenceId: 's-1' })
  test.match(shownAlert({ ...ALERT, endedAt: AT }, silence, outbox, viewOf({})), { state: 'resolved', silenceId: null })
  test.end()
})

t.test('targets are shown with waiting and abandoned messages, also before the first one', (test) => {
  const shown = deliveriesShown([chat(), chat({ id: 'target-2', name: 'other' })], outbox, Date.parse(AT))
  test.match(shown, [
    { targetName: 'the chat', waiting: 1, dropped: 3, failures: 2, lastError: 'refused', nextTry: AT },
    { targetName: 'other', at: AT, waiting: 0, dropped: 0, lastError: null, nextTry: null },
  ])
  test.end()
})
