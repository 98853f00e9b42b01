import t from 'tap'

import { comparisonFor, elapsed, formatsOf, sortable } from '../../../../src/ui/core/formats.ts'

let locale = 'en-GB'
const { brief, bytes, clock, moment, number, short } = formatsOf(() => locale)

const VALUES = [
  0,
  0.04,
  0.06,
  1,
  4.26,
  9.94,
  9.96,
  10,
  99.5,
  999,
  999.4,
  999.6,
  1_000,
  1_234,
  12_345.6,
  5e6,
  1e12,
  -3,
  -1_500,
  -0.04,
  0.25,
  1.15,
  -1_234_567.25,
  999_999.96,
  1e21,
  Infinity,
]

t.test('numbers are formatted in the language of the page', async (test) => {
  for (const one of ['en-GB', 'de-CH', 'en-US', 'de-DE']) {
    locale = one
    const as = (value: number, options: Intl.NumberFormatOptions) =>
      new Intl.NumberFormat(locale, options).format(value)
    for (const value of VALUES) {
      test.equal(number(value), as(value, { maximumFractionDigits: 1 }), `${value}`)
      const digits = Math.abs(value) < 10 ? 1 : 0
      test.equal(short(value), as(value, { notation: 'compact', maximumFractionDigits: digits }), `${value} in short`)
    }
    const date = new Date(1_795_750_000_000)
    test.equal(clock(date.getTime()), new Intl.DateTimeFormat(locale, { timeStyle: 'medium' }).format(date))
    const style = { dateStyle: 'medium', timeStyle: 'medium' } as const
    const few = { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' } as const
    test.equal(brief(date.toISOString()), new Intl.DateTimeFormat(locale, few).format(date))
    test.equal(moment(date.toISOString()), new Intl.DateTimeFormat(locale, style).format(date))
  }
  test.equal(short(undefined), '–')
})

t.test('bytes have a unit, and a decimal for small numbers of it', async (test) => {
  locale = 'en-GB'
  const told = [0, 7, 999, 1_000, 1_250, 12_300, 999_499, 5.4e6, 2e18]
  test.same(told.map(bytes), ['0 B', '7 B', '999 B', '1 kB', '1.3 kB', '12 kB', '999 kB', '5.4 MB', '2,000 PB'])
  test.equal(bytes(null), '–')
})

t.test('an age never reads sixty of a unit', async (test) => {
  const told = [-3.2, 0, 0.9, 1, 59.9, 60, 119, 3_599, 3_600, 86_399, 86_400, 172_799, 172_800, 1e7].map(elapsed)
  test.same(
    told.map(({ unit, count }) => `${count} ${unit}`),
    ['-4 s', '0 s', '0 s', '1 s', '59 s', '1 min', '1 min', '59 min', '1 h', '23 h', '1 d', '1 d', '2 d', '115 d'],
  )
})

t.test('sort order', async (test) => {
  const plain = ['web 10', 'Web 2', 'web 1', 'zoo', '10.0.0.9', '10.0.0.10', 'a-b', 'a']
  for (const names of [plain, [...plain, 'äpfel', 'Zürich']]) {
    const compare = comparisonFor(names.map(sortable))
    const sorted = names.toSorted((a, b) => compare(sortable(a), sortable(b)))
    test.same(sorted, names.toSorted(new Intl.Collator('en', { numeric: true }).compare))
  }
})
