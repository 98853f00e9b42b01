/**
 * Cost of evaluating alert rules on HAProxy's figures for 20,000 servers: by the number of rules, and when many servers
 * match.
 */
import { readFileSync } from 'node:fs'
import { AlertBook } from '../src/alerts/alert-book.ts'
import { LiveConditions } from '../src/alerts/live-conditions.ts'
import type { AlertRule } from '../src/model/alerts.ts'
import { LiveAnswers } from '../src/stats/live.ts'
import { systemClock } from '../src/base/clock.ts'
import { alertRule } from '../test/fixtures/alerts.ts'
import { tickOf } from '../test/fixtures/live-tick.ts'
import { namesOf } from '../test/src/stats/names-fixture.ts'
import { spread, table, whole } from './measure.ts'
import { scaled } from './scale.ts'

const SERVERS = scaled(20_000, 200)
const EACH = 100
const ROUNDS = scaled(60, 3)
const FIXTURE = new URL('../test/fixtures/haproxy-2.6/show-stat.csv', import.meta.url)

/** Returns the answer of a HAProxy with this many servers, each a real row of one. */
function answer(): Uint8Array {
  const lines = readFileSync(FIXTURE, 'utf8').split('\n')
  const [header = ''] = lines
  const type = header.split(',').indexOf('type')
  const row = lines.find((line) => line.split(',')[type] === '2') ?? ''
  const fields = row.split(',').slice(2).join(',')
  const rows = Array.from({ length: SERVERS }, (_, at) => `b${Math.floor(at / EACH)},s${at},${fields}`)
  return Buffer.from([header, ...rows, '', ''].join('\n'))
}

function figures(): LiveAnswers {
  const reals = (backend: number) =>
    Array.from({ length: EACH }, (_, at) => ({ ripId: `s${backend * EACH + at}`, name: `web ${at}` }))
  const backends = Array.from({ length: SERVERS / EACH }, (_, at) => ({
    id: `b${at}`,
    name: `shop ${at}`,
    reals: reals(at),
  }))
  const live = new LiveAnswers(namesOf([], backends), 'bench')
  live.update(tickOf(answer()))
  return live
}

const threshold = (at: number, metric: string, value: number): AlertRule =>
  alertRule({ type: 'threshold', object: 'server', metric, value }, { id: `rule-${at}`, for: 0 })
const many = (count: number, value: number) =>
  Array.from({ length: count }, (_, at) => threshold(at, 'currentSessions', value + at))
const DOWN = alertRule({ type: 'serverDown' }, { id: 'down' })

const CASES: readonly (readonly [string, readonly AlertRule[]])[] = [
  ['servers that are down', [DOWN]],
  ['1 threshold', many(1, 1e6)],
  ['200 thresholds of one figure', many(200, 1e6)],
  [
    'servers down, 5 figures',
    [
      DOWN,
      ...['currentSessions', 'sessionRate', 'currentQueue', 'responseTime', 'weight'].map((metric, at) =>
        threshold(at, metric, 1e6),
      ),
    ],
  ],
  ['1 threshold, every server beyond it', [threshold(0, 'weight', 0)]],
]

/** Returns the milliseconds of the main thread for each evaluation, and the bytes allocated per evaluation. */
function looked(live: LiveAnswers, rules: readonly AlertRule[]): readonly [number[], number] {
  const layer = { layer: 7 as const, names: live.names, scan: live.scan.bind(live) }
  const conditions = new LiveConditions(layer, rules)
  const book = new AlertBook([], { clock: systemClock, isSilenced: () => false, isOurs: () => true })
  const byId = new Map(rules.map((rule) => [rule.id, rule]))
  const times: number[] = []
  let before = 0
  for (let round = 0; round < ROUNDS + 5; round++) {
    // The first evaluations compile the code and name the alerts they find.
    if (round === 5) before = process.memoryUsage().heapUsed
    const began_ms = performance.now()
    book.begin()
    conditions.look(book.met)
    book.end(byId, new Set())
    book.takeToTell()
    book.takeChanges()
    if (round >= 5) times.push(performance.now() - began_ms)
  }
  return [times, Math.max(0, process.memoryUsage().heapUsed - before) / ROUNDS]
}

export async function run(): Promise<void> {
  const live = figures()
  const rows = CASES.map(([what, rules]) => {
    const [times, bytes] = looked(live, rules)
    return [what, spread(times, 2), whole(bytes / 1024)]
  })
  table(
    `One evaluation of alert rules, ${whole(SERVERS)} servers`,
    ['rules', 'ms of the main thread a second', 'KiB allocated'],
    rows,
  )
}
