import t from 'tap'
import { OwedEntries } from '../../../src/audit/owed-entries.ts'
import { createLog } from '../../../src/base/log.ts'

/** A log of entries on a disk that accepts everything, or nothing. */
function fixture() {
  const disk = { takes: true }
  const written: string[] = []
  const lines: string[] = []
  const log = {
    append: async (entry: object) => {
      if (!disk.takes) throw new Error('EIO: i/o error')
      written.push(String(Reflect.get(entry, 'endpoint')))
    },
  }
  const owed = new OwedEntries(
    log,
    createLog((line) => lines.push(line)),
  )
  return { disk, written, lines, owed }
}

const entry = (endpoint: string) => ({ at: '2026-01-02T03:04:05.000Z', endpoint, requestId: endpoint })

t.test('entries that the disk refused are written first once it recovers, and logged once each time', async (test) => {
  const { disk, written, lines, owed } = fixture()
  await owed.append([entry('a')])
  disk.takes = false
  await owed.append([entry('b')])
  await owed.append([entry('c'), entry('d')])
  test.equal(owed.reason, 'EIO: i/o error')
  disk.takes = true
  await owed.append([entry('e')])
  test.strictSame([written, owed.reason], [['a', 'b', 'c', 'd', 'e'], undefined])
  test.strictSame(
    lines.map((line) => JSON.parse(line).level),
    ['error', 'info'],
  )
  await owed.close()
})

t.test('the end is the last try, and entries lost then are named', async (test) => {
  const { disk, written, lines, owed } = fixture()
  disk.takes = false
  await owed.append([entry('a'), entry('b')])
  await owed.close()
  test.strictSame(written, [])
  test.match(lines.slice(1), [/lost.*"requestId":"a"/, /lost.*"requestId":"b"/])
})
