import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import t from 'tap'
import { Journal } from '../../../storage/logs/journal.ts'
import { logFolder, logRow, openedIn } from '../../fixtures/log-rows.ts'

const opened = (path: string) => {
  const journal = new Journal(path)
  journal.close()
  return journal
}

t.test('a torn end is cut off, wherever it is torn', async (test) => {
  const path = join(logFolder(test), 'journal')
  const journal = new Journal(path)
  journal.append({ rows: [logRow({ path: '/1' })], seen: { 'a b': 1 } })
  const first = journal.length
  journal.append({ rows: [logRow({ path: '/2' })], seen: { 'a b': 2 } })
  journal.close()
  const whole = readFileSync(path)
  for (let length = first; length < whole.length; length += 7) {
    writeFileSync(path, whole.subarray(0, length))
    const { blocks, torn_bytes } = opened(path)
    test.strictSame([blocks.length, torn_bytes], [1, length - first])
    test.strictSame(blocks[0]?.seen, { 'a b': 1 })
    test.equal(readFileSync(path).length, first)
  }
  writeFileSync(path, whole)
  appendFileSync(path, Buffer.alloc(8, 0xff))
  test.equal(opened(path).blocks.length, 2)
})

t.test('the rest of a failed write does not destroy the next one', async (test) => {
  const path = join(logFolder(test), 'journal')
  const journal = new Journal(path)
  journal.append({ rows: [], seen: 1 })
  // As when the disk refuses to cut it off as well.
  appendFileSync(path, 'a part of a block')
  journal.append({ rows: [], seen: 2 })
  journal.append({ rows: [], seen: 3 })
  journal.close()
  const again = new Journal(path)
  test.strictSame(
    again.blocks.map(({ seen }) => seen),
    [1, 2, 3],
  )
  again.close()
})

t.test('an unreadable journal leaves no descriptor open', async (test) => {
  const path = join(logFolder(test), 'journal')
  const head = Buffer.alloc(8)
  const packed = Buffer.from('is not packed')
  head.writeUInt32LE(packed.length)
  head.writeUInt32LE(crc32(packed), 4)
  writeFileSync(path, Buffer.concat([head, packed]))
  test.throws(() => new Journal(path))
  test.equal(openedIn(path), 0)
})
