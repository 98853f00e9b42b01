import { rmSync } from 'node:fs'
import t from 'tap'
import { count, type Cursor, type Search, search } from '../../../storage/logs/search.ts'
import { LogStore } from '../../../storage/logs/store.ts'
import { logFolder, logRow } from '../../fixtures/log-rows.ts'

const LIMITS = { bytes_max: 10_000_000, age_ms: 1_000_000_000_000_000 }

function whole<T>(work: Search<T>): T {
  for (;;) {
    const next = work.next()
    if (next.done === true) return next.value
  }
}

/** Ten rows in segments of three: three closed ones, and an open one. */
function filled(test: Parameters<typeof logFolder>[0]): LogStore {
  const store = new LogStore(logFolder(test), LIMITS, 3)
  test.teardown(() => store.close())
  for (let at = 0; at < 10; at++) {
    const row = logRow({
      path: `/${at % 2}?at=${at}`,
      status: at === 4 ? 500 : 200,
      total_ms: at * 10,
      source: `s${at}`,
    })
    store.append([row], {})
    store.tidy(row.at_ms, {})
  }
  return store
}

t.test('pages go back in time without a gap, also when a segment is closed between them', async (test) => {
  const store = filled(test)
  const found: string[] = []
  let after: Cursor | undefined
  for (let page = 0; page < 5; page++) {
    const { rows, isMore } = whole(search(store, {}, 2, after))
    found.push(...rows.map(({ row }) => row.source))
    after = rows.at(-1)
    test.equal(isMore, page < 4 || rows.length === 2)
    store.append([logRow({ source: 'newer' })], {})
    store.tidy(logRow().at_ms, {})
  }
  test.strictSame(found, ['s9', 's8', 's7', 's6', 's5', 's4', 's3', 's2', 's1', 's0'])
  test.strictSame(whole(search(store, {}, 2, after)).rows, [])
})

t.test('matching rows are found, in any segment', async (test) => {
  const { rows, isMore } = whole(search(filled(test), { statuses: { from: 500, to: 599 } }, 10))
  test.strictSame([rows.map(({ row }) => row.source), isMore], [['s4'], false])
})

t.test('counts cover all segments, paths without their query', async (test) => {
  const counted = whole(count(filled(test), {}, 2))
  test.strictSame(Object.fromEntries(counted.paths), { '/0': 5, '/1': 5 })

  test.strictSame(Object.fromEntries(counted.statuses), { 200: 9, 500: 1 })
  test.equal(counted.sources.size, 10)
  test.strictSame([counted.rows, counted.slowest.map(({ row }) => row.total_ms)], [10, [90, 80]])
})

t.test('a segment that is removed during a search is not missed', async (test) => {
  const store = filled(test)
  rmSync(store.segments[0]?.path ?? '')
  const { rows, damage } = whole(search(store, {}, 10))
  test.strictSame([rows.length, damage], [7, []])
})
