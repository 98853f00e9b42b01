import t, { type Test } from 'tap'
import {
  type ClusterTrouble,
  type Ending,
  NodeConditions,
  type NodeConditionsParts,
} from '../../../src/alerts/node-conditions.ts'
import type { AlertRule } from '../../../src/model/alerts.ts'
import { alertRule } from '../../fixtures/alerts.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { untilHolds } from '../../fixtures/until.ts'

const DAY_MS = 86_400_000

function fixture(test: Test, more: Partial<NodeConditionsParts> = {}) {
  const clock = manualClock()
  const store = { unconfirmed: () => undefined, changeCount: 0, underWay: () => undefined }
  const parts = {
    certificates: () => [],
    store,
    stateFolder: temporaryFolder(test, 'alerts'),
    nodeId: 'n1',
    cluster: () => [],
    clock,
  }
  const conditions = new NodeConditions({ ...parts, ...more })
  const look = (rule: AlertRule) => {
    const texts: string[] = []
    const unknown = conditions.of([rule]).look(({ text }) => texts.push(text))
    return unknown.length > 0 ? 'unknown' : texts
  }
  return { look, clock }
}

t.test('certificates are reported a number of days before they expire, unless an order renews them', (test) => {
  const clock = manualClock()
  const ending = (days: number, more: object = {}): Ending => ({
    id: `c${days}`,
    name: `n${days}`,
    notAfter: new Date(clock.now_ms() + days * DAY_MS),
    ...more,
  })
  const certificates = () => [ending(29), ending(31), ending(-1), ending(5, { quietUntil_ms: clock.now_ms() + 1 })]
  const { look } = fixture(test, { certificates })
  test.match(look(alertRule({ type: 'certificateEnd' })), [/n29 expires at/, /n-1 has expired at/])
  test.match(look(alertRule({ type: 'certificateEnd', value: 40, names: 'n3*' })), [/n31 expires/])
  test.end()
})

t.test('changes wait for an apply, and applies for their confirmation', (test) => {
  const unconfirmed = { revision: 7, by: 'ann@corp.test', confirmBy: '2026-01-02T04:00:00.000Z' }
  const store = { unconfirmed: () => unconfirmed, changeCount: 2, underWay: () => undefined } as never
  const { look } = fixture(test, { store })
  const [confirmation, changes] = [/revision 7 by ann@corp.test waits for confirmation/, '2 changes wait for an apply']
  test.match(look(alertRule({ type: 'applyWaiting' })), [confirmation, changes])
  test.match(look(alertRule({ type: 'applyWaiting', waits: 'apply' })), [changes])
  test.match(look(alertRule({ type: 'applyWaiting', waits: 'confirmation' })), [confirmation])
  const applying = { unconfirmed: () => undefined, changeCount: 1, underWay: () => ({}) } as never
  test.same(fixture(test, { store: applying }).look(alertRule({ type: 'applyWaiting' })), [], 'they are being applied')
  test.end()
})

t.test('the disk is unknown until it was read', async (test) => {
  const { look } = fixture(test)
  // The folder may be in unused memory, with 0 percent in use.
  const [full, never] = [alertRule({ type: 'disk', value: -1 }), alertRule({ type: 'disk', value: 100 })]
  test.equal(look(full), 'unknown')
  await untilHolds(() => look(full) !== 'unknown')
  test.match(look(full), [/is \d+ percent full/])
  test.same(look(never), [])
  const gone = fixture(test, { stateFolder: '/no/such/folder' })
  gone.look(full)
  await new Promise((resolve) => setTimeout(resolve, 20))
  test.equal(gone.look(full), 'unknown')
})

t.test('problems of the cluster are reported as this node sees them', (test) => {
  const trouble: ClusterTrouble = { object: { type: 'node', id: 'n2', name: 'lb-2' }, text: 'node lb-2 is not reached' }
  test.same(fixture(test, { cluster: () => [trouble] }).look(alertRule({ type: 'cluster' })), [trouble.text])
  test.same(fixture(test).look(alertRule({ type: 'cluster' })), [])
  test.end()
})
