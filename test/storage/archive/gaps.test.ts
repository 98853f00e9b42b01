import t from 'tap'
import {
  type Gap,
  gapsBefore,
  gapsOfTail,
  keptFrom,
  readGaps,
  withGap,
  writeGaps,
} from '../../../storage/archive/gaps.ts'
import { coverageStart, keyFirst, keySecond } from '../../../storage/archive/layout.ts'
import { tierAt } from '../../../storage/archive/tiers.ts'
import { GAPS_MAX } from '../../../storage/limits.ts'

const S = 1_700_000_000
const DAY = 86_400
const YEARS_36 = 36 * 365 * DAY

t.test('they are read back as written', async (t) => {
  const rows = new Map<string, Uint8Array>()
  const name = (key: Uint8Array) => `${keyFirst(key)} ${keySecond(key)}`
  const meta = {
    get: (key: Uint8Array) => rows.get(name(key)),
    putSync: (key: Uint8Array, value: Uint8Array) => void rows.set(name(key), value),
  }
  t.strictSame(readGaps(meta), [])
  const gaps = [
    { from_s: S, to_s: S + 400 },
    { from_s: S + 500, to_s: S + YEARS_36 },
  ]
  writeGaps(meta, gaps)
  t.strictSame(readGaps(meta), gaps)
  writeGaps(meta, [])
  t.strictSame(readGaps(meta), [])
})

t.test('without a gap a tier keeps its retention, and never data before its floor', async (t) => {
  t.equal(keptFrom(tierAt(0), S, []), coverageStart(tierAt(0), S))
  t.equal(keptFrom({ ...tierAt(1), floor_s: S - 95 }, S, [{ from_s: S - 90, to_s: S - 50 }]), S - 90)
})

t.test('data before a gap age with the data recorded after it', async (t) => {
  const base = tierAt(0)
  const gaps = [{ from_s: S, to_s: S + YEARS_36 }]
  const after = (seconds: number) => keptFrom(base, S + YEARS_36 + seconds, gaps)
  t.equal(after(0), S - 7_200)
  t.equal(after(60), S - 7_140)
  t.equal(after(7_199), S - 1)
  t.equal(after(7_201), S + YEARS_36 + 1, 'from here on there are newer ones for all rows')
  const twice = [...gaps, { from_s: S + YEARS_36 + 100, to_s: S + YEARS_36 + 100 + DAY }]
  t.equal(keptFrom(base, S + YEARS_36 + 100 + DAY + 100, twice), S - 7_000)
})

t.test('set back, the gap ends there', async (t) => {
  const gaps = [
    { from_s: S, to_s: S + 400 },
    { from_s: S + 500, to_s: S + YEARS_36 },
  ]
  t.strictSame(gapsBefore(gaps, S + 505), [gaps[0], { from_s: S + 500, to_s: S + 505 }])
  t.strictSame(gapsBefore(gaps, S + 500), [gaps[0]])
  t.strictSame(gapsBefore(gaps, S), [])
})

t.test('a gap in the crash tail alone counts, and a short one does not', async (t) => {
  const known = [{ from_s: S - 900, to_s: S - 500 }]
  const records = [S - 900, S - 500, S, S + 10, S + 10 + YEARS_36, S + 11 + YEARS_36].map((to_s) => ({ to_s }))
  t.strictSame(gapsOfTail(known, records, S), [...known, { from_s: S + 10, to_s: S + 10 + YEARS_36 }])
})

t.test('of too many the shortest is dropped', async (t) => {
  let gaps: readonly Gap[] = [{ from_s: 1, to_s: 1 + YEARS_36 }]
  for (let index = 1; index <= GAPS_MAX; index++) gaps = withGap(gaps, { from_s: index * DAY, to_s: index * DAY + 999 })
  t.equal(gaps.length, GAPS_MAX)
  t.strictSame(
    gaps.slice(0, 2).map(({ from_s }) => from_s),
    [1, 2 * DAY],
  )
})
