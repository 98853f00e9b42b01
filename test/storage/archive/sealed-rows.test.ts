import t, { type Test } from 'tap'
import { openBinaryDatabase, openBinaryEnvironment } from '../../../storage/env.ts'
import { Damage } from '../../../storage/archive/damage.ts'
import { makeKey } from '../../../storage/archive/layout.ts'
import { SealedRows } from '../../../storage/archive/sealed-rows.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const KEY = makeKey(600, 4)

function fixture(t: Test, isUnsealed?: (key: Uint8Array, value: Uint8Array) => boolean) {
  const environment = openBinaryEnvironment({ directory: temporaryFolder(t), databases_max: 4, map_bytes: 1 << 20 })
  t.teardown(() => environment.close())
  const raw = openBinaryDatabase(environment, 'rows')
  const damage = new Damage()
  return { environment, raw, damage, rows: new SealedRows(raw, 't1', damage, isUnsealed) }
}

t.test('a row is read back in every way, whatever its length', async (t) => {
  const { rows, damage } = fixture(t)
  for (const length of [0, 1, 300, 5_000]) {
    const value = new Uint8Array(length).fill(7)
    rows.putSync(KEY, value)
    t.strictSame(Uint8Array.from(rows.get(KEY) ?? [1]), value)
    t.strictSame(Uint8Array.from(rows.getFast(KEY) ?? [1]), value, 'without the earlier content of the shared buffer')
    t.strictSame(
      [...rows.getRange()].map((row) => Uint8Array.from(row.value)),
      [value],
    )
  }
  t.equal(rows.get(makeKey(1, 1)), undefined)
  t.equal(rows.getFast(makeKey(1, 1)), undefined)
  t.strictSame(damage.places, [])
})

t.test('each flipped bit makes a row unknown, and is reported with its place', async (t) => {
  const { rows, raw, damage } = fixture(t)
  rows.putSync(KEY, new Uint8Array([2, 0, 1, 200, 5]))
  rows.putSync(makeKey(660, 4), new Uint8Array([9]))
  const whole = Uint8Array.from(raw.get(KEY) ?? [])
  for (let bit = 0; bit < 8 * whole.length; bit++) {
    const flipped = Uint8Array.from(whole)
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    raw.putSync(KEY, flipped)
    t.equal(rows.get(KEY), undefined, `bit ${bit}`)
    t.equal(rows.getFast(KEY), undefined)
  }
  t.strictSame(
    [...rows.getRange()].map(({ value }) => value[0]),
    [9],
    'the rest is served',
  )
  raw.putSync(KEY, Uint8Array.from(raw.get(makeKey(660, 4)) ?? []))
  t.equal(rows.get(KEY), undefined, 'another row’s bytes do not fit this one')
  t.strictSame(damage.places, ['t1 600/4'])
})

t.test('lost rows are removed or marked, and only those', async (t) => {
  const { rows, raw, environment } = fixture(t)
  rows.putSync(KEY, new Uint8Array([1]))
  rows.putSync(makeKey(660, 4), new Uint8Array([2]))
  raw.putSync(KEY, new Uint8Array([1, 2, 3]))
  t.strictSame(
    environment.transactionSync(() => rows.mend('mark')),
    ['t1 600/4'],
  )
  t.strictSame(
    [...rows.getRange()].map(({ value }) => value.length),
    [0, 1],
  )
  t.strictSame(
    environment.transactionSync(() => rows.mend('mark')),
    [],
  )
  raw.putSync(KEY, new Uint8Array([1, 2, 3, 4, 5]))
  t.strictSame(
    environment.transactionSync(() => rows.mend('remove')),
    ['t1 600/4'],
  )
  t.strictSame(
    [...rows.getRange()].map(({ value }) => value[0]),
    [2],
  )
})

t.test('rows of a version without seals are read, and sealed once', async (t) => {
  let isOlder = true
  const { rows, raw, environment } = fixture(t, () => isOlder)
  raw.putSync(KEY, new Uint8Array([1, 2, 3]))
  t.strictSame(Uint8Array.from(rows.get(KEY) ?? []), new Uint8Array([1, 2, 3]))
  environment.transactionSync(() => rows.seal())
  isOlder = false
  t.strictSame(Uint8Array.from(rows.getFast(KEY) ?? []), new Uint8Array([1, 2, 3]))
})
