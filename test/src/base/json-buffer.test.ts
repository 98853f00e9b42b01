import * as fc from 'fast-check'
import t from 'tap'
import { ascii, isJsonInteger, JsonBuffer } from '../../../src/base/json-buffer.ts'

function written(write: (out: JsonBuffer) => void): string {
  const out = new JsonBuffer()
  write(out)
  return Buffer.from(out.take()).toString()
}

t.test('every integer is written in full', async (t) => {
  fc.assert(
    fc.property(
      fc.oneof(fc.nat(20), fc.nat(), fc.maxSafeNat()),
      (value) => written((out) => out.number(value)) === String(value),
    ),
  )
  for (const value of [0, 9, 10, 999_999_999, 1_000_000_000, 10_000_000_001, Number.MAX_SAFE_INTEGER]) {
    t.equal(
      written((out) => out.number(value)),
      String(value),
    )
  }
})

t.test('fractions: six decimals, no trailing zeros, and the sum of a bucket can be recovered', async (t) => {
  t.equal(
    written((out) => out.number(1.5)),
    '1.5',
  )
  t.equal(
    written((out) => out.number(2 / 3)),
    '0.666667',
  )
  t.equal(
    written((out) => out.number(0.999_999_9)),
    '1',
  )
  t.equal(
    written((out) => out.number(12_345_678_901.25)),
    '12345678901.25',
  )
  fc.assert(
    fc.property(fc.nat(2 ** 40), fc.integer({ min: 1, max: 3_600 }), (sum, count) => {
      const text = written((out) => out.number(sum / count))
      return Math.round(JSON.parse(text) * count) === sum
    }),
  )
})

t.test('text, bytes and growth', async (t) => {
  const long = 'ü€😀'.repeat(30_000)
  t.equal(
    written((out) => out.text(long)),
    long,
  )
  t.equal(
    written((out) => out.raw(ascii(long))),
    long,
  )
  t.equal(
    written((out) => out.copy(ascii('abcdef'), 1, 4)),
    'bcd',
  )
  const out = new JsonBuffer()
  out.byte(0x31)
  t.equal(out.length, 1)
  out.clear()
  t.equal(out.take().length, 0)
})

t.test('integers in the sense of JSON, and other numbers', async (t) => {
  const judged = (text: string) => isJsonInteger(new TextEncoder().encode(`,${text},`), 1, 1 + text.length)
  t.strictSame(['0', '7', '10', '-1', '-0', '18446744073709551615'].map(judged), Array(6).fill(true))
  t.strictSame(['', '-', '01', '-01', '1}', '1.5', '1e3', ' 1', '+1'].map(judged), Array(9).fill(false))
})
