import { readFileSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SegmentFile } from '../../../storage/audit/segment-file.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { noSmallDisk, smallDisk } from '../../fixtures/small-disk.ts'

const line = (text: string) => Buffer.from(`${text}\n`)
const linesOf = (path: string) => readFileSync(path, 'utf8').split('\n').slice(0, -1)

t.test('lines are followed by reserved space, which is released when the segment ends', async (test) => {
  const path = join(temporaryFolder(test, 'segment'), 'a')
  const file = await SegmentFile.create(path)
  test.equal(statSync(path).mode & 0o777, 0o600)
  test.equal(await file.extend(), true)
  const size = statSync(path).size
  for (const text of ['one', 'two']) await file.append(line(text))
  test.equal(statSync(path).size, size, 'writes take no more of the disk')
  test.same(linesOf(path), ['one', 'two'])
  await file.close()
  const again = await SegmentFile.open(path, 8)
  test.equal(again.ahead, size - 8)
  await again.append(line('three'))
  await again.end()
  test.equal(readFileSync(path, 'utf8'), 'one\ntwo\nthree\n')
})

t.test('space is added before it is used up', async (test) => {
  const path = join(temporaryFolder(test, 'segment'), 'a')
  const file = await SegmentFile.create(path)
  for (let n = 0; n < 40; n++) {
    await file.append(line('x'.repeat(20_000)))
    test.equal(await file.extend(), true)
    test.ok(file.ahead >= 192 * 1024)
  }
  await file.end()
  test.equal(linesOf(path).length, 40)
})

t.test('remains of an attempt after the last line are overwritten', async (test) => {
  const path = join(temporaryFolder(test, 'segment'), 'a')
  writeFileSync(path, 'whole\nhalf of a li')
  const file = await SegmentFile.open(path, 6)
  await file.append(line('next'))
  test.same(linesOf(path).slice(0, 2), ['whole', 'next'])
  await file.end()
  test.equal(readFileSync(path, 'utf8'), 'whole\nnext\n')
})

t.test('of lines that a full disk accepted in part nothing is left', { skip: noSmallDisk }, async (test) => {
  const disk = smallDisk(test, 1)
  const path = join(disk, 'a')
  const file = await SegmentFile.create(path)
  await file.append(line('whole'))
  const { bavail, bsize } = statfsSync(disk)
  writeFileSync(join(disk, 'filler'), Buffer.alloc((bavail - 1) * bsize))
  const refused = Buffer.concat(Array.from({ length: 9 }, () => line('refused '.repeat(200))))
  await test.rejects(file.append(refused), /ENOSPC/)
  test.same(linesOf(path), ['whole'], 'they do not count as written')
  test.ok(file.ahead > 4_096, 'their part of the disk is reserved space')
  await file.append(line('next'))
  test.same(linesOf(path), ['whole', 'next'])
  rmSync(join(disk, 'filler'))
  await file.append(refused)
  test.equal(linesOf(path).length, 11)
  await file.end()
})
