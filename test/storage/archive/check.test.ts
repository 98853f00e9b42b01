import t from 'tap'
import { checkArchive, checkArchiveDirectory } from '../../../storage/archive/check.ts'
import { META_NEXT_ID } from '../../../storage/archive/databases.ts'
import { makeKey } from '../../../storage/archive/layout.ts'
import { METRIC_COUNT } from '../../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { temporaryFolder, writeSeconds } from '../temporary-archive.ts'

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
  const damage = (
    database: keyof typeof databases & ('tail' | 'catalog' | 'meta' | 'baseline'),
    key: Uint8Array,
    value: Uint8Array,
  ) => {
    const before = databases[database].get(key)
    databases[database].putSync(key, value)
    const text = found()
    if (before === undefined) databases[database].removeSync(key)
    else databases[database].putSync(key, before)
    return text
  }
  t.match(damage('tail', makeKey(writer.hwm_s + 5, 0), new Uint8Array([0, 0, 0, 0])), /not before the high-water mark/)
  t.match(damage('tail', makeKey(writer.hwm_s - 1, 9), new Uint8Array([0, 0, 0, 0])), /no object of this block/)
  t.match(damage('tail', makeKey(S - 9_000, 0), new Uint8Array([0, 0, 0, 0])), /older than the tail/)
  t.match(
    damage('tail', makeKey(writer.hwm_s - 1, 0), new Uint8Array([...new Uint8Array(METRIC_COUNT), 9])),
    /16 bytes, 15 read/,
  )
  t.match(
    damage('catalog', makeKey(0, 50), Buffer.from('{"kind":"frontend","name":"x","backend":"","born_s":1}')),
    /not below the next number/,
  )
  t.match(damage('catalog', makeKey(0, 50), Buffer.from('nonsense')), /cannot be read/)
  t.match(damage('meta', META_NEXT_ID, makeKey(0, 1)), /not below the next number/)
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
