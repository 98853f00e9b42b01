import t from 'tap'
import type { StageEntry } from '../../../storage/config/entry.ts'
import { type Found, logViolations, modelled, type Operation, storeViolations } from './checker.ts'
import { type NodeShown, SECTION, type Signed } from './lines.ts'

/** Each rule of the history test finds its violations. */

const origin = { actor: 'tester', endpoint: 'test', at: '2026-01-02T03:04:05.000Z' }

function staged(operation: string, id: string, value: unknown, more: Partial<StageEntry & Signed> = {}) {
  const writes = [{ section: SECTION, scope: '', key: id, value, changeId: operation }]
  return { op: 'stage', origin, writes, discards: [], operation, expects: [], ...more } as const
}
const log = (...entries: Found['entry'][]): readonly Found[] =>
  entries.map((entry, index) => ({ position: index + 1, entry }))
const done = (name: string, began_us: number, ended_us: number): Operation => ({
  name,
  kind: 'create',
  began_us,
  ended_us,
  outcome: 'answered',
})
const [first, second] = [staged('a', '1', { name: 'one' }), staged('b', '2', { name: 'two' })]
const freeze = { op: 'freeze', applyId: 'c', changes: ['a'] } as const
const header = { applyId: 'c', revision: 1, by: 'tester', at: origin.at, comment: '' }

t.test('possible histories are no violation', async (test) => {
  const unknown: Operation[] = [
    { name: 'b', kind: 'create', began_us: 3, ended_us: 4, outcome: 'unknown' },
    { name: 'c', kind: 'create', began_us: 3 },
  ]
  test.same(
    logViolations([done('a', 1, 2), ...unknown], log(first)),
    [],
    'neither of two operations has a known outcome',
  )
  test.same(logViolations([done('a', 1, 2), ...unknown], log(first, second)), [])
  test.same(logViolations([done('b', 1, 4), done('a', 2, 3)], log(first, second)), [], 'both were in progress')
  const refused: Operation = { ...done('b', 1, 2), outcome: 'refused', why: 'taken' }
  test.same(logViolations([done('a', 1, 2), refused], log(first)), [])
})

t.test('an edit that was lost, doubled, refused, invented or failed is found', async (test) => {
  test.match(logViolations([done('a', 1, 2), done('b', 1, 2)], log(first)), [/b .* was answered and is not in the log/])
  test.match(logViolations([done('a', 1, 2)], log(first, first)), [/a is in the log twice/])
  const refused: Operation = { ...done('a', 1, 2), outcome: 'refused', why: 'taken' }
  test.match(logViolations([refused], log(first)), [/a .* was refused \(taken\) and is in the log/])
  test.match(logViolations([], log(first)), [/a is in the log, and nobody began it/])
  test.match(logViolations([{ ...refused, outcome: 'broken', why: 'a defect' }], log(first)), [/a .* failed: a defect/])
})

t.test('a gap, a repeated number and a wrong order are found', async (test) => {
  const both = [done('a', 1, 2), done('b', 1, 2)]
  const at = (...positions: number[]) => [first, second].map((entry, i) => ({ entry, position: positions[i] ?? 0 }))
  test.match(logViolations(both, at(1, 3)), [/entry 3 was written behind entry 1/])
  test.match(logViolations(both, at(1, 1)), [/entry 1 was written behind entry 1/])
  const later = [done('b', 1, 2), done('a', 3, 4)]
  test.match(logViolations(later, log(first, second)), [/a is before b in the log, which was answered before it/])
})

t.test('an entry that is impossible at its place is found', async (test) => {
  const wrong = (...entries: Found['entry'][]) => modelled(log(...entries)).violations
  test.match(wrong(first, staged('b', '2', { name: 'one' })), [/one is there twice behind 2/])
  const expects = [{ id: '1', revision: 1 }]
  test.same(wrong(first, staged('b', '1', { name: 'two' }, { expects })), [])
  test.match(wrong(first, second, staged('c', '2', undefined, { expects: [{ id: '2', revision: 1 }] })), [
    /c at 3 expects 2 to have revision 1/,
  ])
  test.match(wrong(staged('b', '1', { name: 'two' }, { expects })), [/b at 1 expects 1 to have revision 1/])
  const back = { op: 'stage', origin, writes: [], discards: ['a'] } as const
  test.match(wrong(first, back, back), [/the change a is taken back and not pending/])
  test.match(wrong(first, freeze, back), [/the change a is taken back and frozen/])
  test.match(wrong(first, second, freeze, { ...freeze, applyId: 'd' }), [/two applies are under way/])
  test.match(wrong(first, { op: 'promote', header }), [/c is made running and not frozen/])
  test.match(wrong(first, freeze, { op: 'promote', header: { ...header, revision: 2 } }), [/revision 2 follows 0/])
})

t.test('a store that lags, has stopped or differs is found', async (test) => {
  const entries = log(first, second, freeze, { op: 'promote', header })
  const whole: NodeShown = { ...modelled(entries).shown, position: 4, halted: '', digest: 'd' }
  const found = (more: Partial<NodeShown>) => storeViolations(entries, new Map([['node', { ...whole, ...more }]]))
  test.same(found({}), [])
  test.equal(whole.running.length + whole.pending.length + whole.revisions.length, 3)
  test.match(found({ position: 3 }), [/node is at 3, and the log ends at 4/])
  test.match(found({ halted: 'full' }), [/node has stopped: full/])
  test.match(found({ sequence: 1 }), [/node has 1 for sequence, and not 2/])
  test.match(found({ pending: [] }), [/node lacks in pending: 2 b/])
  test.match(found({ running: [...whole.running, 'x'] }), [/node has too much in running: x/])
  const others = new Map([
    ['one', whole],
    ['other', { ...whole, digest: 'e' }],
  ])
  test.match(storeViolations(entries, others), [/the digests differ/])
})
