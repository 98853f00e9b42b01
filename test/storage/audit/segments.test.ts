import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { chain, firstOf, GENESIS, segmentPath, segmentsIn, unchain } from '../../../storage/audit/segments.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('a line is bound to the previous one, and to every byte of itself', async (test) => {
  const first = chain({ seq: 1, at: 'a', by: 'x,"hash":"y"}' }, GENESIS)
  const second = chain({ seq: 2, at: 'b', by: 'z' }, first.head)
  test.match(unchain(first.line), { seq: 1, by: 'x,"hash":"y"}', prev: GENESIS.hash, hash: first.head.hash })
  test.match(unchain(second.line), { prev: first.head.hash })
  for (let at = 0; at < second.line.length; at++) {
    const byte = second.line[at] === '0' ? '1' : '0'
    test.equal(unchain(`${second.line.slice(0, at)}${byte}${second.line.slice(at + 1)}`), undefined)
  }
  test.equal(unchain(''), undefined)
})

t.test('segments are listed in the order of their entries, and nothing else is', async (test) => {
  const folder = join(temporaryFolder(test, 'audit'), 'audit')
  mkdirSync(folder)
  for (const first of [100, 9, 1]) writeFileSync(segmentPath(folder, first), '')
  test.equal(firstOf(segmentPath(folder, 100)), 100)
  writeFileSync(join(folder, 'notes.jsonl'), '')
  test.same(segmentsIn(folder), [segmentPath(folder, 1), segmentPath(folder, 9), segmentPath(folder, 100)])
})
