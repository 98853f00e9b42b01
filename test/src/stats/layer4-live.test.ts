import t from 'tap'
import { COLUMN, COLUMNS, ipvsPlan } from '../../../src/ipvs/names.ts'
import { RunningNames } from '../../../src/stats/running-names.ts'
import { Layer4Health } from '../../../src/stats/layer4-health.ts'
import { Layer4Live } from '../../../src/stats/layer4-live.ts'
import { l4Frontend } from '../../fixtures/config.ts'
import { checked, real } from '../../labs/layer4-lab.ts'
import { viewOf } from '../../fixtures/view.ts'

const running = viewOf({
  realServers: [real('r1', { name: 'web "1" ü' })],
  l4Backends: [checked('b', ['r1'])],
  l4Frontends: [l4Frontend('f', 'b')],
})
const revision = () => 3
const plan = ipvsPlan(running, 3)

function live() {
  const names = new RunningNames(running, revision, 4)
  return new Layer4Live({ running, revision, names, health: new Layer4Health(running), nonce: 'n' })
}
const parsed = (of: Layer4Live, kind: 'frontends' | 'backends' | 'rips') =>
  JSON.parse(Buffer.from(of.render({ kind })?.body ?? '').toString()).data[0]

t.test('the fields of the contract, each in its place', (t) => {
  const of = live()
  const figures = new Float64Array(3 * COLUMNS).map((_, at) => at)
  of.update({ figures, since_ms: 1, reason: undefined }, plan)
  const TOTALS = ['connections', 'packetsIn', 'packetsOut', 'bytesIn', 'bytesOut']
  const traffic = [...TOTALS, ...TOTALS.map((name) => `${name}PerSecond`)]
  const facts = ['ip', 'ports', 'protocol', 'forwarding', 'scheduler']
  t.strictSame(Object.keys(parsed(of, 'frontends')), ['id', 'name', ...facts, ...traffic])
  const counts = ['realsTotal', 'realsDrained', 'realsHalted']
  t.strictSame(Object.keys(parsed(of, 'backends')), ['id', 'name', ...counts, ...traffic, 'realsUp'])
  const member = parsed(of, 'rips')
  const own = ['activeConnections', 'inactiveConnections', 'persistentConnections', 'weight', 'health']
  t.strictSame(Object.keys(member), ['id', 'name', 'backendId', 'backendName', 'state', ...traffic, ...own])
  t.equal(member.name, 'web "1" ü')
  t.equal(member.bytesOutPerSecond, 2 * COLUMNS + COLUMN.bytesOutPerSecond)
  t.end()
})

t.test('an unused backend has no servers that are down', (t) => {
  for (const [enabled, realsUp] of [
    [true, 0],
    [false, null],
  ] as const) {
    const view = viewOf({
      realServers: [real('r1')],
      l4Backends: [checked('b', ['r1'])],
      l4Frontends: [l4Frontend('f', 'b', { enabled })],
    })
    const names = new RunningNames(view, revision, 4)
    const of = new Layer4Live({ running: view, revision, names, health: new Layer4Health(view), nonce: 'n' })
    of.update({ figures: new Float64Array(3 * COLUMNS), since_ms: 1, reason: undefined }, ipvsPlan(view, 3))
    t.equal(parsed(of, 'backends').realsUp, realsUp)
  }
  t.end()
})

t.test('unknown is null, and large numbers stay exact', (t) => {
  const of = live()
  const figures = new Float64Array(3 * COLUMNS).fill(Number.NaN)
  figures[COLUMN.bytesIn] = 2 ** 52 + 1
  of.update({ figures, since_ms: 1, reason: undefined }, plan)
  t.match(parsed(of, 'frontends'), { bytesIn: 2 ** 52 + 1, bytesOut: null })
  of.update({ figures: undefined, since_ms: 0, reason: undefined }, undefined)
  const { message } = JSON.parse(Buffer.from(of.render({ kind: 'all' })?.body ?? '').toString())
  t.equal(message, "The kernel's balancing table has not been read yet")
  t.end()
})
