import t from 'tap'
import { checkArchive, checkArchiveDirectory } from '../../../storage/archive/check.ts'
import { ByteSink } from '../../../storage/archive/bytes.ts'
import { META_NEXT_ID, readTailPlace, writeTailPlace } from '../../../storage/archive/databases.ts'
import { makeKey } from '../../../storage/archive/layout.ts'
import { writeTail } from '../../../storage/archive/recover.ts'
import { encodeBaseline } from '../../../storage/archive/tail.ts'
import type { TailPart } from '../../../storage/archive/tail-file.ts'
import { METRIC_COUNT } from '../../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { writeSeconds } from '../temporary-archive.ts'

const S = 1_700_000_000

t.test('a sound archive has no problems, open or closed', async (t) => {
  const directory = temporaryFolder(t)
  const writer = new ArchiveWriter(directory, S)
  writeSeconds(writer, 'fe', 700, (metric, second) => (second % 7) * metric)
  t.strictSame(checkArchive(writer.databases), [])
  await writer.close()
  t.strictSame(await checkArchiveDirectory(directory), [])
})

t.test('every kind of damage is named', async (t) => {
  const writer = new ArchiveWriter(temporaryFolder(t), S)
  writeSeconds(writer, 'fe', 700, (metric, second) => (second % 7) * metric)
  const { databases } = writer
  const found = (): string => checkArchive(databases).join('\n')
  const damage = (database: keyof typeof databases & ('catalog' | 'meta'), key: Uint8Array, value: Uint8Array) => {
    const before = databases[database].get(key)
    databases[database].putSync(key, value)
    const text = found()
    if (before === undefined) databases[database].removeSync(key)
    else databases[database].putSync(key, before)
    return text
  }
  t.match(
    damage('catalog', makeKey(0, 50), Buffer.from('{"kind":"frontend","name":"x","backend":"","born_s":1}')),
    /not below the next number/,
  )
  t.match(damage('catalog', makeKey(0, 50), Buffer.from('nonsense')), /cannot be read/)
  t.match(damage('meta', META_NEXT_ID, makeKey(0, 1)), /not below the next number/)
  t.match(damage('meta', makeKey(0, 5), makeKey(S, S - 1)), /a gap from 1700000000 to/)
  const tier = databases.tiers[1]
  const [entry] = [...(tier?.getRange({ limit: 1 }) ?? [])]
  if (tier === undefined || entry === undefined) throw new Error('no chunk')
  tier.putSync(makeKey(S + 100_000, 1), entry.value)
  t.match(found(), /ends after the high-water mark/)
  tier.removeSync(makeKey(S + 100_000, 1))
  const changed = Uint8Array.from(entry.value)
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1
  tier.putSync(entry.key, changed)
  t.match(found(), /the finer tier says|sum .* minimum/)
  tier.putSync(entry.key, entry.value)
  t.strictSame(checkArchive(databases), [])
  await writer.close()
})

t.test('foreign data in the crash tail are named', async (t) => {
  const directory = temporaryFolder(t)
  const writer = new ArchiveWriter(directory, S)
  writeSeconds(writer, 'fe', 200, () => 1)
  const { databases, hwm_s } = writer
  const before = readTailPlace(databases) ?? { mark: 0, pair: 0 }
  const place = { mark: 77, pair: 1 - before.pair }
  const bad = (part: TailPart) => {
    writeTail(databases, place, [{ to_s: hwm_s, sampled_s: 0, parts: [part] }])
    databases.environment.transactionSync(() => writeTailPlace(databases, place))
    return checkArchive(databases).join('\n')
  }
  const row = { kind: 'row', second: hwm_s - 1, block: 0, bytes: new Uint8Array(METRIC_COUNT) } as const
  t.equal(bad(row), '')
  t.match(bad({ ...row, second: hwm_s }), /not before the high-water mark/)
  t.match(bad({ ...row, block: 9 }), /no object of this block/)
  t.match(bad({ ...row, bytes: new Uint8Array([...row.bytes, 9]) }), /16 bytes, 15 read/)
  const counters = encodeBaseline(new ByteSink(), { second: hwm_s + 1, pid: 1 }, new Float64Array(10 * 125))
  t.match(bad({ ...row, kind: 'baseline', bytes: counters }), /counters of the future/)
  writeTail(databases, place, [{ to_s: hwm_s - 150, sampled_s: 0, parts: [] }])
  t.match(checkArchive(databases).join('\n'), new RegExp(`tail from ${hwm_s - 150} to [0-9]+: damaged`))
  await writer.close()
})
