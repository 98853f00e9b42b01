import t, { type Test } from 'tap'
import { Alerts, type AlertsParts } from '../../../src/alerts/alerts.ts'
import type { ClusterTrouble } from '../../../src/alerts/node-conditions.ts'
import { NodeConditions } from '../../../src/alerts/node-conditions.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { Event } from '../../../src/events/events.ts'
import type { AlertRule, Sending, Sent } from '../../../src/model/alerts.ts'
import type { ConfigView } from '../../../src/model/sections.ts'
import type { LmdbConfigStore } from '../../../storage/config/lmdb-config-store.ts'
import { alertRule, chat } from '../../fixtures/alerts.ts'
import { openStore } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { viewOf } from '../../fixtures/view.ts'
import { until } from '../../fixtures/until.ts'

const TROUBLE: ClusterTrouble = { object: { type: 'node', id: 'n2', name: 'lb-2' }, text: 'node lb-2 is not reached' }
const RULE = alertRule({ type: 'cluster' }, { for: 0, clearFor: 0 })

const NOBODY: (event: Event) => void = () => undefined

/** Alerts of a real store, with only the clock and the targets replaced. */
function fixture(test: Test, more: Partial<AlertsParts> = {}, store: LmdbConfigStore = openStore(test)) {
  const clock = manualClock()
  const state = { trouble: [] as ClusterTrouble[], rules: [RULE], version: 1, publish: NOBODY }
  const sent: Sending[] = []
  const view = () => viewOf({ alertTargets: [chat()], alertRules: state.rules })
  const running: ConfigView = { get: (section, id) => view().get(section, id), list: (section) => view().list(section) }
  const nothing = { unconfirmed: () => undefined, changeCount: 0, underWay: () => undefined }
  const cluster = () => state.trouble
  const conditions = new NodeConditions({
    certificates: () => [],
    store: nothing,
    stateFolder: '/',
    nodeId: 'n1',
    cluster,
    clock,
  })
  const parts: AlertsParts = {
    store: {
      alerts: store.alerts,
      silences: store.silences,
      get runningVersion() {
        return state.version
      },
    },
    running,
    layers: [],
    conditions,
    events: {
      subscribe(subscriber) {
        state.publish = subscriber
        return () => undefined
      },
    },
    send: async (sending): Promise<Sent> => {
      sent.push(sending)
      return { taken: sending.messages.length, failure: undefined }
    },
    allowsLoopback: false,
    allowed: [],
    isSpeaker: () => true,
    nodeId: 'n1',
    clock,
    log: silentLog,
    ...more,
  }
  const alerts = new Alerts(parts)
  const said = () => sent.flatMap(({ messages }) => messages.map(({ phase, count }) => `${phase} ${count}`))
  const settled = (count: number) => until('its messages', said, ({ length }) => length >= count)
  return { alerts, clock, state, sent, said, settled, store }
}

t.test('a firing alert is reported, and so is its end', async (test) => {
  const { alerts, state, settled, sent } = fixture(test)
  await alerts.look()
  test.same(alerts.list(), [])
  state.trouble = [TROUBLE]
  await alerts.look()
  test.same(await settled(1), ['firing 1'])
  test.match(sent[0]?.messages[0], {
    rule: { name: 'rule' },
    nodeId: 'n1',
    alerts: [{ objectName: 'lb-2', text: TROUBLE.text }],
  })
  test.match(alerts.list(), [{ state: 'firing', deliveries: [{ targetName: 'the chat', phase: 'firing' }] }])
  state.trouble = []
  await alerts.look()
  test.same(await settled(2), ['firing 1', 'resolved 1'])
  test.match(alerts.list(), [
    { state: 'resolved', endedAt: String, deliveries: [{ phase: 'firing' }, { phase: 'resolved' }] },
  ])
  await alerts.close()
})

t.test('an alert and its message are on the disk together, and sent by the next start', async (test) => {
  const store = openStore(test)
  const before = fixture(test, { send: () => new Promise<Sent>(() => undefined) }, store)
  before.state.trouble = [TROUBLE]
  await before.alerts.look()
  const [shown] = before.alerts.list()
  const { alerts, settled, sent, state } = fixture(test, {}, store)
  state.trouble = [TROUBLE]
  alerts.start()
  test.same(await settled(1), ['firing 1'])
  test.equal(sent[0]?.messages[0]?.id, shown?.deliveries[0]?.messageId, 'under the same id')
  await alerts.look()
  test.match(alerts.list(), [{ id: shown?.id, since: shown?.since }], 'it is the same alert')
  test.same(await settled(1), ['firing 1'], 'and is not reported again')
  await alerts.close()
})

t.test('a thousand at once are one message, and each is listed', async (test) => {
  const { alerts, state, settled, sent } = fixture(test)
  state.trouble = Array.from({ length: 1_000 }, (_, at) => ({
    ...TROUBLE,
    object: { type: 'node', id: `n${at}`, name: `lb-${at}` },
  }))
  await alerts.look()
  test.same(await settled(1), ['firing 1000'])
  test.equal(sent[0]?.messages[0]?.alerts.length, 20)
  test.equal(alerts.list().length, 1_000)
  test.equal(new Set(alerts.list().map(({ objectId }) => objectId)).size, 1_000)
  await alerts.close()
})

t.test('events are reported by rules for them', async (test) => {
  const { alerts, state, settled, sent } = fixture(test)
  state.rules = [alertRule({ type: 'event', events: ['node'] })]
  state.version++
  alerts.start()
  await alerts.look()
  state.publish({ id: 1, at: '', kind: 'node', data: { state: 'haproxy down', reason: 'gone' } })
  await alerts.look()
  test.same(await settled(1), ['firing 1'])
  test.match(sent[0]?.messages[0]?.alerts, [{ kind: 'event', text: /haproxy down: gone/ }])
  await alerts.close()
})

t.test('events before the first look are reported', async (test) => {
  const rules = [alertRule({ type: 'event', events: ['apply'] })]
  const { alerts, state } = fixture(test, { running: viewOf({ alertTargets: [chat()], alertRules: rules }) })
  state.publish({ id: 1, at: '', kind: 'apply', data: { state: 'reverted', by: 'ann', revision: 7 } })
  alerts.start()
  await alerts.look()
  test.match(alerts.list(), [{ text: /reverted/ }])
  await alerts.close()
})

t.test('events after the last look are reported all the same, and nothing else is decided then', async (test) => {
  const store = openStore(test)
  const rules = [alertRule({ type: 'event', events: ['node'] }, { id: 'events' }), RULE]
  const running = viewOf({ alertTargets: [chat()], alertRules: rules })
  const { alerts, state } = fixture(test, { running }, store)
  state.trouble = [TROUBLE]
  await alerts.look()
  state.publish({ id: 1, at: '', kind: 'node', data: { state: 'haproxy down', reason: 'gone' } })
  state.trouble = []
  await alerts.close()
  const next = fixture(test, { running }, store).alerts
  test.match(next.list(), [
    { kind: 'event', state: 'firing', deliveries: [{ phase: 'firing' }] },
    { kind: 'cluster', state: 'firing', deliveries: [{ phase: 'firing' }] },
  ])
})

t.test('an end on a full disk is an end', async (test) => {
  const { alerts: table, silences } = openStore(test)
  const write = () => Promise.reject(new Error('disk full'))
  const rules = [alertRule({ type: 'event', events: ['node'] })]
  const running = viewOf({ alertTargets: [chat()], alertRules: rules })
  const { alerts, state } = fixture(test, {
    running,
    store: { alerts: { ...table, write }, silences, runningVersion: 1 },
  })
  state.publish({ id: 1, at: '', kind: 'node', data: { state: 'haproxy down', reason: 'gone' } })
  const looked = test.rejects(alerts.look(), /disk full/)
  await alerts.close()
  await looked
})

t.test('alerts of the cluster are sent by one node; the loss of the majority by each itself', async (test) => {
  const { alerts, state, settled, sent } = fixture(test, { isSpeaker: () => false })
  state.trouble = [TROUBLE, { object: { type: 'quorum', id: 'n1', name: 'lb-1' }, text: 'no majority' }]
  await alerts.look()
  test.same(await settled(1), ['firing 1'])
  test.match(sent[0]?.messages[0]?.alerts, [{ text: 'no majority' }])
  test.equal(alerts.list().length, 2, 'it is listed all the same')
  await alerts.close()
})

t.test('silenced alerts are reported when the silence ends', async (test) => {
  const { alerts, state, said, settled } = fixture(test)
  const id = await alerts.silence({
    ruleId: null,
    objectId: 'n2',
    objectName: null,
    reason: 'works',
    by: 'a',
    endsAt: '2030-01-01T00:00:00.000Z',
  })
  state.trouble = [TROUBLE]
  await alerts.look()
  test.match(alerts.list(), [{ state: 'silenced', silenceId: id }])
  test.same(said(), [])
  await alerts.endSilence(id)
  await alerts.look()
  test.same(await settled(1), ['firing 1'])
  await alerts.close()
})

t.test('an alert that cannot be written is reported when it can', async (test) => {
  const store = openStore(test)
  let isFull = true
  const { alerts: table } = store
  const write: typeof table.write = async (...rows) => {
    if (isFull) throw new Error('disk full')
    return table.write(...rows)
  }
  const { silences } = store
  const { alerts, state, said, settled } = fixture(
    test,
    { store: { alerts: { ...table, write }, silences, runningVersion: 1 } },
    store,
  )
  state.trouble = [TROUBLE]
  await test.rejects(alerts.look(), /disk full/)
  test.same(said(), [])
  isFull = false
  await alerts.look()
  test.same(await settled(1), ['firing 1'])
  await alerts.close()
})

t.test('an alert that cannot be written for long is kept once, and not once per look', async (test) => {
  const store = openStore(test)
  const rows: number[] = []
  let isFull = true
  const { alerts: table, silences } = store
  const write: typeof table.write = async (puts, removed) => {
    rows.push(puts.length)
    if (isFull) throw new Error('disk full')
    return table.write(puts, removed)
  }
  const parts = { store: { alerts: { ...table, write }, silences, runningVersion: 1 } }
  const { alerts, state, clock } = fixture(test, parts, store)
  for (let look = 0; look < 50; look++) {
    state.trouble = look % 2 === 0 ? [TROUBLE] : [{ ...TROUBLE, text: 'otherwise' }]
    await test.rejects(alerts.look(), /disk full/)
    clock.advance(1_000)
  }
  test.same(new Set(rows), new Set([2]), 'one alert and its message')
  isFull = false
  await alerts.look()
  test.equal(table.entries().length, 2)
  await alerts.close()
})

t.test('alerts are listed newest first, up to a limit, and by state', async (test) => {
  const { alerts, state, clock } = fixture(test)
  const trouble = (id: string): ClusterTrouble => ({ object: { type: 'node', id, name: id }, text: id })
  state.trouble = [trouble('a'), trouble('b')]
  await alerts.look()
  clock.advance(1_000)
  state.trouble = [trouble('b'), trouble('c')]
  await alerts.look()
  await alerts.silence({
    ruleId: null,
    objectId: 'c',
    objectName: null,
    reason: '',
    by: '',
    endsAt: '2027-01-01T00:00:00Z',
  })
  const ids = (...asked: Parameters<typeof alerts.list>) => alerts.list(...asked).map(({ objectId }) => objectId)
  test.same(ids(), ['c', 'b', 'a'])
  test.same(ids(undefined, 2), ['c', 'b'])
  test.same([ids('firing'), ids('silenced'), ids('resolved', 1), ids('resolved', 0)], [['b'], ['c'], ['a'], []])
  await alerts.close()
})

t.test('the counts of a target are deleted with it', async (test) => {
  const store = openStore(test)
  await store.alerts.write([{ key: 'dtarget-that-is-gone', value: 7 }], [])
  const { alerts, state } = fixture(test, {}, store)
  await alerts.look()
  state.version++
  await alerts.look()
  test.same(store.alerts.entries(), [])
  await alerts.close()
})

t.test('no message is sent for a rule without targets, or with a target that is off', async (test) => {
  const { alerts, state, said } = fixture(test)
  const rule: AlertRule = { ...RULE, targets: [] }
  state.rules = [rule]
  state.version++
  state.trouble = [TROUBLE]
  await alerts.look()
  test.match(alerts.list(), [{ state: 'firing', deliveries: [] }])
  test.same(said(), [])
  await alerts.close()
})
