import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { ArchiveObject } from '../../../storage/archive/catalog.ts'
import { ChunkWriter } from '../../../storage/archive/chunk-writer.ts'
import { openArchiveDatabases } from '../../../storage/archive/databases.ts'
import { keyFirst, keySecond } from '../../../storage/archive/layout.ts'
import { tierAt } from '../../../storage/archive/tiers.ts'

const START = 1_700_000_040

function object(id: number, seen_s = Number.POSITIVE_INFINITY): ArchiveObject {
  return { id, kind: 'server', name: `s${id}`, backend: 'b', born_s: 0, died_s: undefined, slot: 0, seen_s }
}

t.test('chunks are stored when they are due, in order, and only when something is known', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'chunks-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const { environment, tiers } = openArchiveDatabases(directory)
  const [base] = tiers
  if (base === undefined) throw new Error('no tier')
  const asked: number[] = []
  const source = {
    base: ({ id }: { id: number }, start_s: number, end_s: number, out: Float64Array) => {
      asked.push(id)
      t.equal(end_s - start_s, 120)
      out.fill(id === 3 ? Number.NaN : id)
    },
    coarse: () => t.fail('the base tier is made of seconds'),
  }
  const objects = [object(1), object(2), object(3), object(4, START - 500)]
  const stored = environment.transactionSync(() =>
    new ChunkWriter().storeDue(base, tierAt(0), objects, source, START, START + 120),
  )
  t.equal(stored, 2)
  t.strictSame(asked, [1, 2, 3], 'an object not seen for longer than a chunk is skipped')
  t.strictSame(
    Array.from(base.getKeys(), (key) => [keyFirst(key) - START, keySecond(key)]),
    [
      [1, 1],
      [2, 2],
    ],
    'each object has its own phase',
  )
  await environment.close()
})
