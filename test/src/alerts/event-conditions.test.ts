import t from 'tap'
import { EventConditions } from '../../../src/alerts/event-conditions.ts'
import type { Met } from '../../../src/alerts/met.ts'
import { EVENT_KINDS } from '../../../src/model/job.ts'
import { alertRule } from '../../fixtures/alerts.ts'

const event = (data: object, kind: 'node' | 'realServer' = 'realServer') => ({ id: 1, at: '', kind, data })
const DOWN = { state: 'down', id: 'r1', name: 'web1', backendId: 'be', backendName: 'shop', reason: 'L4CON' }

function metOf(conditions: EventConditions): readonly Met[] {
  const met: Met[] = []
  conditions.look((one) => met.push(one))
  return met
}

t.test('events of the kinds and states in a rule match once', (test) => {
  const rule = alertRule({ type: 'event', events: ['realServer'], states: ['down'] })
  const conditions = new EventConditions([rule, alertRule({ type: 'disk' })])
  conditions.take(event(DOWN))
  conditions.take(event({ ...DOWN, state: 'up' }))
  conditions.take(event({ state: 'haproxy down' }, 'node'))
  test.match(metOf(conditions), [
    {
      rule,
      key: 'realServer/be/r1/down',
      object: { id: 'be/r1', name: 'web1' },
      text: 'realServer web1 in shop: down: L4CON',
    },
  ])
  test.same(metOf(conditions), [])
  test.end()
})

t.test('each object is an alert of its own, whichever event reports it', (test) => {
  const conditions = new EventConditions([alertRule({ type: 'event', events: ['address', 'certificate', 'login'] })])
  const node = { state: 'taken', nodeId: 'n' }
  for (const data of [
    { ...node, ip: '192.0.2.1', floatingIpId: 'f1' },
    { ...node, ip: '192.0.2.2', floatingIpId: 'f2' },
    { ...node, ip: '192.0.2.3', floatingIpId: undefined },
  ])
    conditions.take({ id: 1, at: '', kind: 'address', data })
  for (const order of ['a', 'b'])
    conditions.take({ id: 1, at: '', kind: 'certificate', data: { state: 'renewal failed', name: 'site', order } })
  conditions.take({ id: 1, at: '', kind: 'certificate', data: { state: 'ends', name: 'site', fingerprint: 'AB' } })
  conditions.take({ id: 1, at: '', kind: 'login', data: { state: 'refused', email: 'a@b', address: '::1' } })
  test.same(
    metOf(conditions).map(({ key }) => key),
    [
      'address/f1/taken',
      'address/f2/taken',
      'address/192.0.2.3/taken',
      'certificate/a/renewal failed',
      'certificate/b/renewal failed',
      'certificate/AB/ends',
      'login/a@b/refused',
    ],
  )
  test.end()
})

t.test('the text of an event is a sentence with its reason', (test) => {
  const conditions = new EventConditions([alertRule({ type: 'event', events: [...EVENT_KINDS] })])
  const problem = { code: 'INTERNAL', message: 'apt-get has failed' }
  for (const [kind, data] of [
    ['node', { state: 'haproxy down', reason: 'it does not answer' }],
    ['apply', { state: 'refused', by: 'ann@corp.test', revision: 3, reason: 'line 4 is wrong' }],
    ['job', { id: 'j', kind: 'update', title: 'Software update', state: 'failed', by: 'ann@corp.test', problem }],
    ['node', { state: 'started', version: '0.1.0', nodeId: 'n' }],
    ['realServer', DOWN],
    [
      'certificate',
      { state: 'expires', name: 'shop', days: 7, notAfter: '2026-12-14T00:00:00.000Z', fingerprint: 'f' },
    ],
    [
      'certificate',
      { state: 'renewal failed', name: 'shop', notAfter: '2026-12-14T00:00:00.000Z', reason: 'no answer' },
    ],
    ['login', { state: 'refused', email: 'ann@corp.test', address: '192.0.2.7' }],
  ] as const)
    conditions.take({ id: 1, at: '', kind, data })
  test.same(
    metOf(conditions).map(({ text }) => text),
    [
      'node: haproxy down: it does not answer',
      'apply: refused: line 4 is wrong',
      'job Software update: failed: apt-get has failed',
      'node: started',
      'realServer web1 in shop: down: L4CON',
      'certificate shop: expires: valid until 2026-12-14T00:00:00.000Z',
      'certificate shop: renewal failed: no answer',
      'login ann@corp.test: refused: from 192.0.2.7',
    ],
  )
  test.end()
})

t.test('a long text is cut between characters', (test) => {
  const conditions = new EventConditions([alertRule({ type: 'event', events: ['realServer'] })])
  for (const [at, pad] of ['', 'x'].entries())
    conditions.take(event({ ...DOWN, id: `r${at}`, reason: pad + '😀'.repeat(400) }))
  const texts = metOf(conditions).map(({ text }) => text)
  test.same(new Set(texts.map(({ length }) => length)), new Set([499, 500]))
  for (const text of texts) test.ok(text.isWellFormed())
  test.end()
})

t.test('a rule may name several kinds, and others are ignored', (test) => {
  const rule = alertRule({ type: 'event', events: ['node', 'realServer', 'node'] })
  const conditions = new EventConditions([rule, alertRule({ type: 'event', events: ['node'] }, { id: 'rule-2' })])
  let looked = 0
  const data = {
    get state() {
      looked++
      return 'x'
    },
  }
  conditions.take({ id: 1, at: '', kind: 'job', data })
  test.equal(looked, 0)
  conditions.take(event({ ...DOWN, state: 'x' }))
  conditions.take(event(data, 'node'))
  test.same(
    metOf(conditions).map(({ rule: { id }, key }) => `${id} ${key}`),
    ['rule-1 realServer/be/r1/x', 'rule-1 node//x', 'rule-2 node//x'],
  )
  test.equal(looked, 1)
  test.end()
})

t.test('events beyond the limit are counted', (test) => {
  const conditions = new EventConditions([alertRule({ type: 'event', events: ['node'] })])
  for (let count = 0; count < 1_200; count++) conditions.take(event({ state: 'started' }, 'node'))
  test.equal(metOf(conditions).length, 1_000)
  test.equal(conditions.takeLeft(), 200)
  test.equal(conditions.takeLeft(), 0)
  test.end()
})
