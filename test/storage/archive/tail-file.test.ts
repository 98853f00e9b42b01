import { copyFileSync, existsSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type FoundTail, readTail, RecordSink, removeTail, TailFile } from '../../../storage/archive/tail-file.ts'
import { NoRoomError } from '../../../storage/room.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { seededRandom } from './reference-model.ts'

const PLACE = { mark: 0x9876_5432, pair: 0 }
const FIRST_S = 1_700_000_000
const sink = new RecordSink()

/** Writes the record of one second: its last digits, as often as they say. */
function write(file: TailFile, second: number, needless_s = 0): void {
  sink.begin(second + 1)
  sink.add('row', second, 3, new Uint8Array(second % 100).fill(second % 100))
  sink.add('baseline', second + 1, 200, new Uint8Array([1, 2, 3]))
  file.append(sink, second, second + 1, needless_s)
}

const secondsOf = ({ records }: FoundTail): readonly number[] => records.map(({ to_s }) => to_s - 1 - FIRST_S)
const upTo = (n: number, from = 0) => Array.from({ length: n - from }, (_, i) => from + i)

t.test('written records are read back, also after a restart', async (t) => {
  const directory = temporaryFolder(t)
  let file = new TailFile(directory, PLACE)
  for (let n = 0; n < 50; n++) write(file, FIRST_S + n)
  file.close()
  file = new TailFile(directory, PLACE, readTail(directory, PLACE).next)
  for (let n = 50; n < 60; n++) write(file, FIRST_S + n)
  file.close()
  const found = readTail(directory, PLACE)
  t.strictSame(secondsOf(found), upTo(60))
  t.strictSame(found.damaged, [])
  const [, , , , , sixth] = found.records
  t.strictSame(
    [...(sixth?.parts() ?? [])].map((part) => ({ ...part, bytes: [...part.bytes] })),
    [
      { kind: 'row', second: FIRST_S + 5, block: 3, bytes: [5, 5, 5, 5, 5] },
      { kind: 'baseline', second: FIRST_S + 6, block: 200, bytes: [1, 2, 3] },
    ],
  )
  t.equal(sixth?.sampled_s, FIRST_S + 5)
})

t.test('the files alternate: needed data are there, and older records are distinguished from newer ones', async (t) => {
  const directory = temporaryFolder(t)
  let file = new TailFile(directory, PLACE)
  for (let n = 0; n < 400; n++) {
    write(file, FIRST_S + n, FIRST_S + n - 30)
    if (n % 37 === 36) {
      file.close()
      file = new TailFile(directory, PLACE, readTail(directory, PLACE).next)
    }
    const found = readTail(directory, PLACE)
    const seconds = secondsOf(found)
    t.strictSame(found.damaged, [])
    t.strictSame(seconds, upTo(n + 1, seconds[0]))
    t.ok((seconds[0] ?? 0) <= Math.max(0, n - 30))
  }
  file.close()
})

t.test('an end that is torn anywhere is no damage, and is overwritten', async (t) => {
  const directory = temporaryFolder(t)
  const path = join(directory, 'tail-0')
  const file = new TailFile(directory, PLACE)
  for (let n = 0; n < 30; n++) write(file, FIRST_S + n)
  const { at } = readTail(directory, PLACE).next
  write(file, FIRST_S + 30)
  file.close()
  const whole = readFileSync(path).subarray(0, readTail(directory, PLACE).next.at)
  // The earlier content: nothing, or the records of an earlier round.
  for (const rest of [new Uint8Array(whole.length), whole.subarray(0, whole.length - at)]) {
    for (let length = at; length < whole.length; length++) {
      writeFileSync(path, Buffer.concat([whole.subarray(0, length), rest.subarray(0, whole.length - length)]))
      const found = readTail(directory, PLACE)
      t.strictSame([secondsOf(found), found.damaged, found.next.at], [upTo(30), [], at])
    }
  }
  const again = new TailFile(directory, PLACE, readTail(directory, PLACE).next)
  write(again, FIRST_S + 30)
  again.close()
  t.strictSame(readFileSync(path).subarray(0, whole.length), whole)
  truncateSync(path, at + 5)
  t.strictSame(secondsOf(readTail(directory, PLACE)), upTo(30))
})

t.test('a flipped bit costs its record, and is reported wherever another one follows', async (t) => {
  const directory = temporaryFolder(t)
  const path = join(directory, 'tail-0')
  const file = new TailFile(directory, PLACE)
  for (let n = 0; n < 40; n++) write(file, FIRST_S + n)
  const { at } = readTail(directory, PLACE).next
  write(file, FIRST_S + 40)
  file.close()
  const whole = readFileSync(path).subarray(0, readTail(directory, PLACE).next.at)
  const random = seededRandom(23)
  for (let round = 0; round < 300; round++) {
    const bit = Math.floor(random() * at * 8)
    const bytes = Buffer.from(whole)
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    writeFileSync(path, bytes)
    const found = readTail(directory, PLACE)
    t.equal(found.damaged.length, 1, `byte ${bit >> 3}`)
    t.equal(found.records.length, 40)
    t.equal(found.next.sequence, 42)
  }
})

t.test('records of another archive, of another kind of file, or of nothing are ignored', async (t) => {
  const directory = temporaryFolder(t)
  const file = new TailFile(directory, PLACE)
  for (let n = 0; n < 5; n++) write(file, FIRST_S + n)
  file.close()
  const nothing = { records: [], damaged: [], next: { file: 0, at: 0, sequence: 1, first_s: undefined } }
  t.strictSame(readTail(directory, { ...PLACE, mark: 1 }), nothing)
  t.strictSame(readTail(directory, { ...PLACE, pair: 1 }), nothing)
  const bytes = readFileSync(join(directory, 'tail-0'))
  // The first four bytes identify the file; a later version has others.
  for (let at = bytes.indexOf('FTAI'); at >= 0; at = bytes.indexOf('FTAI', at + 1)) bytes.write('FTAJ', at)
  writeFileSync(join(directory, 'tail-0'), bytes)
  t.strictSame(readTail(directory, PLACE), nothing)
  writeFileSync(join(directory, 'tail-0'), Buffer.from('FTAI'.repeat(100)))
  t.strictSame(readTail(directory, PLACE), nothing)
  removeTail(directory, 0)
  t.notOk(existsSync(join(directory, 'tail-0')))
  t.strictSame(readTail(directory, PLACE), nothing)
})

t.test('a disk that refuses: the record takes the same place when it recovers', async (t) => {
  const directory = temporaryFolder(t)
  symlinkSync('/dev/full', join(directory, 'tail-0'))
  const file = new TailFile(directory, PLACE)
  t.throws(() => write(file, FIRST_S), new NoRoomError('the disk is full'))
  t.throws(() => write(file, FIRST_S), new NoRoomError('the disk is full'))
  file.close()
  removeTail(directory, 0)
  write(file, FIRST_S)
  t.strictSame(secondsOf(readTail(directory, PLACE)), [0])
  file.close()
  t.throws(() => write(new TailFile(join(directory, 'none'), PLACE), FIRST_S), NoRoomError)
})

t.test('both files get space for minutes at once: of one second, however many a record has', async (t) => {
  for (const seconds of [1, 100]) {
    const directory = temporaryFolder(t)
    const file = new TailFile(directory, PLACE)
    sink.begin(FIRST_S + seconds)
    for (let n = 0; n < seconds; n++) sink.add('row', FIRST_S + n, 0, new Uint8Array(1_000))
    file.append(sink, FIRST_S, FIRST_S + seconds, 0)
    file.close()
    for (const name of ['tail-0', 'tail-1']) {
      const { size } = statSync(join(directory, name))
      t.ok(size >= 200 * 1_000 && size < 500 * 1_000, `${size} bytes`)
    }
  }
})

t.test('a file that was lost or restored from a copy: the rest is read, and the gap is reported', async (t) => {
  const directory = temporaryFolder(t)
  const file = new TailFile(directory, PLACE)
  const [first, second] = [join(directory, 'tail-0'), join(directory, 'tail-1')]
  for (let n = 0; n < 45; n++) write(file, FIRST_S + n, FIRST_S + n - 30)
  copyFileSync(second, `${second}.copy`)
  for (let n = 45; n < 50; n++) write(file, FIRST_S + n, FIRST_S + n - 30)
  file.close()
  const whole = readTail(directory, PLACE)
  t.strictSame(secondsOf(whole), upTo(50))
  copyFileSync(`${second}.copy`, second)
  t.strictSame(secondsOf(readTail(directory, PLACE)), upTo(45), 'an earlier copy is an earlier end')
  removeTail(directory, 0)
  removeTail(directory, 1)
  copyFileSync(`${second}.copy`, first)
  t.ok(secondsOf(readTail(directory, PLACE)).length > 0)
})
