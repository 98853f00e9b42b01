import t from 'tap'
import { type Edited, type Held, longestGap, longestOutside, longestShared, recordViolations } from './checker.ts'
import { FLOATING } from './lines.ts'

/** Each rule of the fault test finds its violations. */

const [one, other] = FLOATING
const wrong = (edits: readonly Edited[], records: readonly { name: string; port: number }[]) =>
  recordViolations('lb1', edits, records)
const edited = (name: string, port: number | undefined, outcome?: Edited['outcome']): Edited => ({
  edit: { name, ...(port === undefined ? {} : { port }) },
  ...(outcome === undefined ? {} : { outcome }),
})

t.test('an answered edit is there, in its last version', async (test) => {
  const edits = [edited('a', 1, 'answered'), edited('a', 2, 'answered'), edited('b', 1, 'answered')]
  test.same(
    wrong(edits, [
      { name: 'a', port: 2 },
      { name: 'b', port: 1 },
    ]),
    [],
  )
  test.same(
    wrong(edits, [
      { name: 'a', port: 1 },
      { name: 'b', port: 1 },
    ]),
    ['lb1 has a: port 1, and may have port 2'],
  )
  test.same(wrong(edits, [{ name: 'a', port: 2 }]), ['lb1 has b: not there, and may have port 1'])
  const gone = [...edits, edited('a', undefined, 'answered')]
  test.same(wrong(gone, [{ name: 'b', port: 1 }]), [])
  test.match(
    wrong(gone, [
      { name: 'a', port: 2 },
      { name: 'b', port: 1 },
    ]),
    [/a: port 2, and may have not there/],
  )
})

t.test('a refused edit is not there, and one with an unknown outcome may be', async (test) => {
  test.same(wrong([edited('a', 1, 'refused')], []), [])
  test.match(wrong([edited('a', 1, 'refused')], [{ name: 'a', port: 1 }]), [/a: port 1/])
  for (const outcome of ['unknown', undefined] as const) {
    const edits = [edited('a', 1, 'answered'), edited('a', 2, outcome)]
    test.same(wrong(edits, [{ name: 'a', port: 1 }]), [])
    test.same(wrong(edits, [{ name: 'a', port: 2 }]), [])
    test.match(wrong(edits, []), [/not there/])
  }
  test.match(wrong([], [{ name: 'a', port: 1 }]), [/nobody sent/])
  test.match(
    wrong(
      [edited('a', 1, 'answered')],
      [1, 1].map((port) => ({ name: 'a', port })),
    ),
    [/twice/],
  )
})

t.test('an address at two nodes is found, unless they could not hear each other', async (test) => {
  const told: Held[] = [
    { node: 'lb1', held: [one], at_us: 0 },
    { node: 'lb2', held: [other], at_us: 5 },
    { node: 'lb2', held: [one, other], at_us: 10 },
    { node: 'lb1', held: [], at_us: 30 },
  ]
  test.equal(longestShared(told, []), 20)
  test.equal(longestShared(told, [{ from_us: 0, to_us: 40 }]), 0)
  test.equal(longestShared(told, [{ from_us: 0, to_us: 25 }]), 5)
  test.equal(longestShared(told.slice(0, 3), []), Number.POSITIVE_INFINITY, 'without an end')
  test.equal(longestShared(told.slice(0, 2), []), 0)
  test.equal(
    longestOutside({ from_us: 0, to_us: 100 }, [
      { from_us: 40, to_us: 50 },
      { from_us: 10, to_us: 20 },
    ]),
    50,
  )
})

t.test('the longest gap in a span', async (test) => {
  const gap = (from_us: number, to_us: number) => ({ ip: one, from_us, to_us, before: 'lb1', after: 'lb2' })
  const gaps = [gap(0, 10), gap(20, 50), gap(60, 100)]
  test.equal(longestGap(gaps, { from_us: 5, to_us: 30 }), 30)
  test.equal(longestGap(gaps, { from_us: 11, to_us: 19 }), 0)
})
