import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Journal } from '../../../storage/logs/journal.ts'
import type { Segment } from '../../../storage/logs/segment.ts'
import { LogStore } from '../../../storage/logs/store.ts'
import { noSmallDisk, smallDisk } from '../../fixtures/small-disk.ts'
import { logFolder, logRow, openedIn } from '../../fixtures/log-rows.ts'

const LIMITS = { bytes_max: 1_000_000, age_ms: 1_000_000_000_000_000 }
const NOW_MS = logRow().at_ms
const firstPath = (segment: Segment) => segment.read((columns) => columns.row(0).path)

t.test('rows outlive the store, and segments are closed when they are full', async (test) => {
  const folder = logFolder(test)
  const store = new LogStore(folder, LIMITS, 2)
  store.append([logRow({ path: '/1' }), logRow({ path: '/2' })], { a: 2 })
  store.tidy(NOW_MS, { a: 2 })
  store.append([logRow({ path: '/3' })], { a: 3 })
  store.tidy(NOW_MS, { a: 3 })
  store.close()
  const again = new LogStore(folder, LIMITS, 2)
  test.strictSame([again.segments.map(({ head }) => head.rows), again.open.rows.map(({ path }) => path)], [[2], ['/3']])
  test.strictSame([again.open.number, again.seen, again.damage], [2, { a: 3 }, []])
  again.close()
})

t.test('a segment that fills slowly is closed when it is old', async (test) => {
  const store = new LogStore(logFolder(test), LIMITS)
  store.append([logRow()], {})
  store.tidy(NOW_MS + 3_600_000, {})
  test.equal(store.segments.length, 0)
  store.tidy(NOW_MS + 3_600_001, {})
  test.strictSame([store.segments.length, store.open.rows.length], [1, 0])
  store.close()
})

t.test('rows beyond the age or size are deleted, the oldest first', async (test) => {
  const folder = logFolder(test)
  const store = new LogStore(folder, { bytes_max: 12_000, age_ms: 1_000 }, 1)
  const fill = (at_ms: number) => {
    store.append([logRow({ at_ms })], {})
    store.tidy(at_ms, {})
    store.expire(at_ms)
  }
  fill(NOW_MS)
  fill(NOW_MS + 900)
  test.strictSame(
    store.segments.map(({ number }) => number),
    [1, 2],
  )
  fill(NOW_MS + 1_500)
  test.strictSame(
    store.segments.map(({ number }) => number),
    [2, 3],
    'the first is too old',
  )
  for (let at = 0; at < 9; at++) fill(NOW_MS + 1_600)
  test.ok(store.bytes <= 12_000 + 200, 'the others exceeded the size')
  test.equal(store.segments.at(-1)?.number, 12)
  test.equal(readdirSync(folder).length, store.segments.length + 1)
  store.close()
})

t.test('a file that cannot be removed stays, blocks no other removal, and is retried', async (test) => {
  const folder = logFolder(test)
  const store = new LogStore(folder, { bytes_max: 1_000_000, age_ms: 1_000 }, 1)
  for (const at of [1, 2]) {
    store.append([logRow({ at_ms: NOW_MS + at })], {})
    store.tidy(NOW_MS, {})
  }
  const path = store.segments[0]?.path ?? ''
  rmSync(path)
  mkdirSync(path)
  store.expire(NOW_MS + 2_000)
  test.strictSame(
    store.segments.map(({ number }) => number),
    [1],
  )
  rmdirSync(path)
  store.expire(NOW_MS + 2_000)
  test.strictSame(store.segments, [])
  store.close()
})

t.test('a daemon that is killed while it closes a segment loses none of its rows', async (test) => {
  const folder = logFolder(test)
  const store = new LogStore(folder, LIMITS)
  store.append([logRow({ path: '/1' })], { a: 1 })
  store.close()
  const next = new Journal(join(folder, '000000000002.journal'))
  next.append({ rows: [], seen: { a: 1 } })
  next.close()
  writeFileSync(join(folder, '000000000001.segment.new'), 'half of it')
  const again = new LogStore(folder, LIMITS)
  const [segment] = again.segments
  test.equal(
    segment?.read((columns) => columns.row(0).path),
    '/1',
  )
  test.strictSame([again.segments.length, again.open, again.seen], [1, { number: 2, rows: [] }, { a: 1 }])
  test.strictSame(readdirSync(folder).toSorted(), ['000000000001.segment', '000000000002.journal'])
  again.close()
})

t.test('a journal stays until its rows are in a segment, whatever was closed after it', async (test) => {
  const folder = logFolder(test)
  const store = new LogStore(folder, LIMITS, 1)
  store.append([logRow({ path: '/1' })], { a: 1 })
  store.close()
  const next = new Journal(join(folder, '000000000002.journal'))
  next.close()
  // An obstacle to creating the segment, like a full disk.
  const obstacle = join(folder, '000000000001.segment.new')
  mkdirSync(obstacle)
  for (const path of ['/2', '/3']) {
    const hindered = new LogStore(folder, LIMITS, 1)
    test.match(hindered.damage, [/^journal 1: /])
    hindered.append([logRow({ path })], { a: 2 })
    hindered.tidy(NOW_MS, { a: 2 })
    hindered.close()
  }
  rmdirSync(obstacle)
  const again = new LogStore(folder, LIMITS, 1)
  test.strictSame(again.damage, [])
  test.strictSame(again.segments.map(firstPath), ['/1', '/2', '/3'])
  again.close()
})

t.test('for a damaged segment, its remaining journal is read again', async (test) => {
  const folder = logFolder(test)
  const store = new LogStore(folder, LIMITS, 1)
  store.append([logRow({ path: '/1' })], { a: 1 })
  store.close()
  writeFileSync(join(folder, '000000000001.segment'), 'nothing')
  const again = new LogStore(folder, LIMITS, 1)
  test.match(again.damage, [/^segment 1: /])
  test.strictSame([again.segments.map(firstPath), again.open.number, again.seen], [['/1'], 2, { a: 1 }])
  again.close()
})

t.test('a segment that cannot be created costs no row, no descriptor, and no seen number', async (test) => {
  const folder = logFolder(test)
  const store = new LogStore(folder, LIMITS, 1)
  const obstacle = join(folder, '000000000001.segment')
  mkdirSync(obstacle)
  for (const path of ['/1', '/2', '/3']) {
    store.append([logRow({ path })], { path })
    test.throws(() => store.tidy(NOW_MS, { path }))
  }
  test.equal(openedIn(folder), 1, 'the journal')
  test.equal(store.open.rows.length, 3)
  test.notOk(existsSync(join(folder, '000000000002.journal')), 'a start would continue from its content')
  rmdirSync(obstacle)
  store.tidy(NOW_MS, { path: '/3' })
  test.strictSame([store.segments.map(({ head }) => head.rows), store.open], [[3], { number: 2, rows: [] }])
  store.append([logRow({ path: '/4' })], { path: '/4' })
  store.close()
  const again = new LogStore(folder, LIMITS)
  test.strictSame([again.open.rows.map(({ path }) => path), again.seen], [['/4'], { path: '/4' }])
  again.close()
})

t.test('a journal that gets no rows is restarted, and keeps the seen numbers', async (test) => {
  const folder = logFolder(test)
  const store = new LogStore(folder, LIMITS)
  const noise = () => randomBytes(300_000).toString('hex')
  for (let at = 0; at < 4; at++) store.append([], { at, noise: noise() })
  test.ok(store.bytes > 1_048_576)
  store.tidy(NOW_MS, { at: 5 })
  test.ok(store.bytes < 1_000)
  store.close()
  const again = new LogStore(folder, LIMITS)
  test.strictSame([again.seen, again.segments.length, readdirSync(folder).length], [{ at: 5 }, 0, 1])
  again.close()
})

t.test('a journal whose segment exists is not read twice, and a damaged segment is left out', async (test) => {
  const folder = logFolder(test)
  const store = new LogStore(folder, LIMITS, 1)
  store.append([logRow()], {})
  store.tidy(NOW_MS, {})
  store.close()
  writeFileSync(join(folder, '000000000001.journal'), '')
  writeFileSync(join(folder, '000000000002.segment'), 'nothing')
  const again = new LogStore(folder, LIMITS, 1)
  test.strictSame(
    again.segments.map(({ number }) => number),
    [1],
  )
  test.match(again.damage, [/segment 2/])
  test.equal(again.open.number, 3)
  again.close()
})

t.test(
  'a full disk refuses rows as a whole, and accepts them when there is space',
  { skip: noSmallDisk },
  async (test) => {
    const folder = join(smallDisk(test, 1), 'logs')
    const store = new LogStore(folder, LIMITS)
    const filler = join(folder, 'filler')
    const noise = Array.from({ length: 2_000 }, (_, at) => logRow({ path: `/${Math.sin(at)}`, sourcePort: at }))
    store.append([logRow()], { a: 1 })
    writeFileSync(filler, '')
    let size = 1_040_000
    for (; size > 0; size -= 4_096) {
      try {
        writeFileSync(filler, Buffer.alloc(size))
        break
      } catch {
        // Smaller, until it fits.
      }
    }
    test.throws(() => store.append(noise, { a: 2 }), /ENOSPC/)
    test.equal(store.open.rows.length, 1)
    writeFileSync(filler, '')
    store.append(noise, { a: 2 })
    store.close()
    const again = new LogStore(folder, LIMITS)
    test.strictSame([again.open.rows.length, again.seen, again.damage], [2_001, { a: 2 }, []])
    again.close()
  },
)
