import { readFileSync } from 'node:fs'
import t from 'tap'
import type { Mib } from '../../../src/snmp/agentx/answer.ts'
import type { Value } from '../../../src/snmp/agentx/bytes.ts'
import { FULCRUM_OID, fulcrumMib, stateOf } from '../../../src/snmp/fulcrum-mib.ts'
import { namesOf } from '../stats/names-fixture.ts'

const FIGURES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'frontend\0f1': { status: 'OPEN', scur: '3', stot: '12', bin: '624', bout: '18446744073709551615', rate: '2' },
  'backend\0b1': { status: 'DOWN', scur: '0', stot: '7', bin: '1', bout: '2', rate: '4294967296' },
  'server\0b1\0r1': { status: 'UP 1/3', scur: '1', stot: '7', bin: '1', bout: '', rate: 'x' },
}
const names = namesOf(
  [
    { id: 'f1', name: 'Shop "ü"' },
    { id: 'f0', name: 'resting' },
  ],
  [{ id: 'b1', name: 'web', reals: [{ ripId: 'r1', name: 'web 1' }] }],
)
let reads = 0
const source = (isAnswering = true, of = names) => ({
  names: of,
  live: {
    figure(key: string, column: string) {
      reads++
      return isAnswering ? FIGURES[key]?.[column] || undefined : undefined
    },
    counting: { age_ms: () => 2 ** 32 * 10 + 123_456 },
  },
  answers: () => isAnswering,
  nodeId: 'node-1',
  version: '1.2.3',
})

const shown = (value: Value) => String(value.value)
function walk(mib: Mib): readonly string[] {
  const met: string[] = []
  for (let next = mib.next(FULCRUM_OID, false); next !== undefined; next = mib.next(next.oid, false)) {
    met.push(`${next.oid.slice(FULCRUM_OID.length + 1).join('.')} ${shown(next.value)}`)
  }
  return met
}

const [F0, F1, B1, R1] = ['102.48', '102.49', '98.49', '2.98.49.114.49']

t.test('a walk shows the node, and each object with its name, state and figures', async (test) => {
  test.same(walk(fulcrumMib(source())), [
    '1.1.0 node-1',
    '1.2.0 1.2.3',
    '1.3.0 1',
    '1.4.0 2',
    '1.5.0 1',
    '1.6.0 1',
    '1.7.0 12345',
    `2.1.2.${F0} resting`,
    `2.1.2.${F1} Shop "ü"`,
    `2.1.3.${F0} 1`,
    `2.1.3.${F1} 2`,
    `2.1.4.${F0} UNKNOWN`,
    `2.1.4.${F1} OPEN`,
    `2.1.5.${F1} 3`,
    `2.1.6.${F1} 12`,
    `2.1.7.${F1} 624`,
    `2.1.8.${F1} 18446744073709551615`,
    `2.1.9.${F1} 2`,
    `3.1.2.${B1} web`,
    `3.1.3.${B1} 3`,
    `3.1.4.${B1} DOWN`,
    `3.1.5.${B1} 0`,
    `3.1.6.${B1} 7`,
    `3.1.7.${B1} 1`,
    `3.1.8.${B1} 2`,
    `3.1.9.${B1} 4294967295`,
    `4.1.2.${R1} web 1`,
    `4.1.3.${R1} 2`,
    `4.1.4.${R1} UP 1/3`,
    `4.1.5.${R1} 1`,
    `4.1.6.${R1} 7`,
    `4.1.7.${R1} 1`,
    `4.1.10.${R1} web`,
  ])
})

t.test('while HAProxy is silent there are names and no figures, and no look-ups of them', async (test) => {
  const mib = fulcrumMib(source(false))
  reads = 0
  const met = walk(mib)
  test.ok(met.includes('1.3.0 2'))
  test.ok(met.includes(`2.1.3.${F1} 1`))
  test.equal(
    met.some((line) => /^[234]\.1\.[5-9]\./.test(line)),
    false,
  )
  test.ok(reads <= 10, `${reads} reads`)
})

t.test('the figures are the current ones; rows are looked up again when they change', async (test) => {
  let [version, scur] = [1, '3']
  const frontends = [{ id: 'f1', name: 'one' }]
  const changing = {
    ...source(),
    names: {
      ...namesOf([], []),
      frontends: () => frontends,
      get version() {
        return version
      },
    },
    live: { figure: () => scur, counting: { age_ms: () => 0 } },
  }
  const mib = fulcrumMib(changing)
  const current = [...FULCRUM_OID, 1, 2, 1, 5, 102, 49]
  test.match(mib.get(current), { value: 3 })
  scur = '4'
  test.match(mib.get(current), { value: 4 })
  frontends.push({ id: 'f2', name: 'two' })
  test.equal(mib.get([...FULCRUM_OID, 1, 2, 1, 5, 102, 50]), 'noSuchInstance')
  version = 2
  test.match(mib.get([...FULCRUM_OID, 1, 2, 1, 5, 102, 50]), { value: 4 })
})

t.test('every status word of HAProxy is a state', async (test) => {
  const states = {
    OPEN: 2,
    UP: 2,
    'UP 1/3': 2,
    FULL: 2,
    DOWN: 3,
    'DOWN 1/2': 3,
    DRAIN: 4,
    NOLB: 4,
    MAINT: 5,
    'MAINT (via b/s)': 5,
    'MAINT (resolution)': 5,
    'no check': 6,
    PAUSED: 5,
    STOP: 7,
    UNKNOWN: 1,
  }
  for (const [status, state] of Object.entries(states)) test.equal(stateOf(status), state, status)
  test.equal(stateOf(undefined), 1)
})

t.test('a long name is truncated at the end of a character', async (test) => {
  const mib = fulcrumMib(source(true, namesOf([{ id: 'f', name: `${'x'.repeat(254)}ü` }], [])))
  test.match(mib.get([...FULCRUM_OID, 1, 2, 1, 2, 102]), { value: 'x'.repeat(254) })
})

t.test('the MIB file agrees: numbers of columns and states', async (test) => {
  const file = readFileSync(new URL('../../../docs/FULCRUM-MIB.txt', import.meta.url), 'utf8')
  test.match(file, /fulcrumMIB MODULE-IDENTITY[^]*::= \{ netSnmpPlaypen 70 \}/)
  for (const [name, number] of [
    ['SessionRate', 9],
    ['BytesOut', 8],
    ['TotalSessions', 6],
    ['State', 3],
  ] as const) {
    for (const table of ['Frontend', 'Backend', 'RealServer']) {
      test.match(file, new RegExp(`fulcrum${table}${name} OBJECT-TYPE[^]*?::= \\{ fulcrum${table}Entry ${number} \\}`))
    }
  }
  test.match(file, /unknown\(1\), up\(2\), down\(3\), draining\(4\),\s+maintenance\(5\), unchecked\(6\), stopped\(7\)/)
})
