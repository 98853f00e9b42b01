import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkArchiveDirectory } from '../../../storage/archive/check.ts'
import { META_PROGRESS, META_SCHEMA, openArchiveDatabases } from '../../../storage/archive/databases.ts'
import { makeKey } from '../../../storage/archive/layout.ts'
import { ArchiveReader } from '../../../storage/archive/reader.ts'
import { repairArchive } from '../../../storage/archive/repair.ts'
import { METRIC_COUNT } from '../../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { CHUNKS_EVERY_S } from '../../../storage/limits.ts'
import { openBinaryDatabase } from '../../../storage/env.ts'
import { seededRandom } from './reference-model.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { writeSeconds } from '../temporary-archive.ts'

const S = 1_700_000_000
const SECONDS = 900
const TABLES = ['catalog', 'meta', 't0', 't1', 't2', 't3', 't4']

async function filled(directory: string, seconds = SECONDS): Promise<void> {
  const writer = new ArchiveWriter(directory, S)
  for (const name of ['fe', 'other']) writer.ensure('frontend', name, '')
  writeSeconds(writer, 'fe', seconds, (metric, second) => (second % 7) * metric + 1)
  await writer.close()
}

/** Flips one bit in a row that `random` chooses; returns its place. */
async function flip(directory: string, random: () => number): Promise<string> {
  const { environment } = openArchiveDatabases(directory)
  const rows = TABLES.flatMap((name) => {
    const table = openBinaryDatabase(environment, name)
    return [...table.getRange()].map(({ key, value }) => ({ name, table, key, value: Uint8Array.from(value) }))
  }).filter(({ name, key }) => name !== 'meta' || key.some((byte) => byte !== 0))
  const { name, table, key, value } =
    rows[Math.floor(random() * rows.length)] ??
    rows[0] ??
    (() => {
      throw new Error('no row')
    })()
  const bit = Math.floor(random() * 8 * value.length)
  value[bit >> 3] = (value[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  table.putSync(key, value)
  await environment.close()
  return `${name} ${Buffer.from(key).readUInt32BE(0)}/${Buffer.from(key).readUInt32BE(4)}`
}

t.test('every flipped bit is found; the archive continues, and is whole again after a repair', async (t) => {
  const random = seededRandom(16)
  for (let round = 0; round < 12; round++) {
    const directory = temporaryFolder(t)
    await filled(directory, 200)
    const place = await flip(directory, random)
    const [kind] = place.split(' ')
    t.match((await checkArchiveDirectory(directory)).join('\n'), `${place}: damaged`)
    const writer = new ArchiveWriter(directory, S + 200)
    const before = writer.hwm_s
    writeSeconds(writer, 'fe', 130, () => 1)
    t.equal(writer.hwm_s, before + 130, `with damage in ${kind} the next seconds are stored`)
    await writer.close()
    await repairArchive(directory)
    t.strictSame(
      (await checkArchiveDirectory(directory)).filter((problem) => /damaged/.test(problem)),
      [],
      place,
    )
    t.strictSame(await repairArchive(directory), [])
  }
})

t.test('a damaged chunk is unknown and reported; the rest is answered, coarser tiers as well', async (t) => {
  const directory = temporaryFolder(t)
  await filled(directory)
  const { environment } = openArchiveDatabases(directory)
  const t0 = openBinaryDatabase(environment, 't0')
  const [{ key, value }] = [...t0.getRange({ limit: 1 })].map((row) => ({
    key: row.key,
    value: Uint8Array.from(row.value),
  })) as [{ key: Uint8Array; value: Uint8Array }]
  value[7] = (value[7] ?? 0) ^ 0xff
  t0.putSync(key, value)
  await environment.close()
  const writer = new ArchiveWriter(directory, S + SECONDS)
  const reader = new ArchiveReader(directory, writer.ring.header, writer.ring.slabs)
  const object = reader.objects().find(({ name }) => name === 'fe')
  if (object === undefined) throw new Error('no object')
  const values = new Float64Array(400 * METRIC_COUNT)
  t.ok(reader.readBase(object, S, S + 400, values))
  const known = values.subarray(400, 800).filter((one) => one === one).length
  t.ok(known >= 200 && known < 400, `${known} of 400 seconds are known`)
  t.equal(reader.takeDamage().length, 1)
  t.strictSame(reader.takeDamage(), [], 'reported once')
  await reader.close()
  await writer.close()
  t.equal((await repairArchive(directory)).length, 1)
  t.strictSame(await checkArchiveDirectory(directory), [], 'a coarser tier is not blamed for a loss in the finer one')
})

t.test('many damaged chunks of a tier are one sentence', async (t) => {
  const directory = temporaryFolder(t)
  await filled(directory)
  const { environment } = openArchiveDatabases(directory)
  const t0 = openBinaryDatabase(environment, 't0')
  const rows = [...t0.getRange({ limit: 3 })].map(({ key, value }) => ({ key, value: Uint8Array.from(value) }))
  for (const { key, value } of rows) {
    value[7] = (value[7] ?? 0) ^ 0xff
    t0.putSync(key, value)
  }
  await environment.close()
  t.match(await repairArchive(directory), [/^t0 \d+\/\d+ and 2 more$/])
  t.strictSame(await checkArchiveDirectory(directory), [])
})

t.test('an object that the catalog lost: a repair removes its data, and everything is whole', async (t) => {
  const directory = temporaryFolder(t)
  await filled(directory)
  const { environment } = openArchiveDatabases(directory)
  const catalog = openBinaryDatabase(environment, 'catalog')
  for (const { key, value } of [...catalog.getRange()].map((row) => ({
    key: row.key,
    value: Uint8Array.from(row.value),
  }))) {
    if (!Buffer.from(value).includes('"fe"')) continue
    value[5] = (value[5] ?? 0) ^ 1
    catalog.putSync(key, value)
  }
  await environment.close()
  t.match((await checkArchiveDirectory(directory)).join('\n'), 'no such object in the catalog')
  t.match(await repairArchive(directory), [
    /^catalog 0\/\d+$/,
    /^what was stored of object \d+, which the catalog lost$/,
  ])
  t.strictSame(await checkArchiveDirectory(directory), [])
  t.strictSame(await repairArchive(directory), [])
  const writer = new ArchiveWriter(directory, S + SECONDS)
  writeSeconds(writer, 'fe', SECONDS, () => 2)
  await writer.close()
  t.strictSame(await checkArchiveDirectory(directory), [], 'and under its name it starts again')
})

t.test(
  'every flipped bit of the crash tail is found; its second is unknown, and a repair makes it whole',
  async (t) => {
    const random = seededRandom(29)
    for (let round = 0; round < 12; round++) {
      const directory = temporaryFolder(t)
      await filled(directory, 100)
      const path = join(directory, 'tail-0')
      const bytes = readFileSync(path)
      const last = bytes.lastIndexOf('FTAI')
      const bit = Math.floor(random() * last * 8)
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      writeFileSync(path, bytes)
      t.match((await checkArchiveDirectory(directory)).join('\n'), /^tail-0 at byte [0-9]+: damaged/)
      if (round % 2 === 0) {
        t.match(await repairArchive(directory), [/^tail-0 at byte/])
        t.strictSame(await checkArchiveDirectory(directory), [])
      }
      const writer = new ArchiveWriter(directory, S + 100)
      t.equal(writer.hwm_s, S + 95, 'the later seconds are there')
      if (round % 2 === 1) t.match(writer.databases.damage.take(), [/^tail-0 at byte/])
      const reader = new ArchiveReader(directory, writer.ring.header, writer.ring.slabs)
      const object = writer.objects().find(({ name }) => name === 'fe')
      const values = new Float64Array(100 * METRIC_COUNT)
      reader.readBase(object ?? { id: 0, slot: -1 }, S - 5, S + 95, values)
      const known = values.subarray(0, 100).filter((one) => one === one).length
      t.ok(known >= 99, `${known} of 100 seconds are known`)
      writeSeconds(writer, 'fe', 200, () => 1)
      await reader.close()
      await writer.close()
    }
  },
)

t.test('a missing crash tail: data in chunks are there, the rest is unknown and reported', async (t) => {
  for (const isRepaired of [false, true]) {
    const directory = temporaryFolder(t)
    await filled(directory, 400)
    for (const name of ['tail-0', 'tail-1']) rmSync(join(directory, name), { force: true })
    t.match((await checkArchiveDirectory(directory)).join('\n'), /^tail from 0 to [0-9]+: damaged$/)
    if (isRepaired) {
      t.match(await repairArchive(directory), [/^tail from 0 to/])
      t.strictSame(await checkArchiveDirectory(directory), [])
      t.strictSame(await repairArchive(directory), [])
    }
    const writer = new ArchiveWriter(directory, S + 400)
    t.ok(writer.hwm_s > S + 395 - CHUNKS_EVERY_S && writer.hwm_s <= S + 395, 'up to the last transaction')
    writeSeconds(writer, 'fe', 300, () => 1)
    await writer.close()
    t.strictSame(await checkArchiveDirectory(directory), [])
  }
})

t.test('the crash tail of another archive, and a new archive beside an old tail', async (t) => {
  const [directory, other] = [temporaryFolder(t), temporaryFolder(t)]
  await filled(directory, 300)
  await filled(other, 100)
  for (const name of ['tail-0', 'tail-1']) {
    rmSync(join(directory, name), { force: true })
    if (existsSync(join(other, name))) copyFileSync(join(other, name), join(directory, name))
  }
  t.match((await checkArchiveDirectory(directory)).join('\n'), /^tail from 0 to/)
  rmSync(join(other, 'data.mdb'))
  rmSync(join(other, 'lock.mdb'))
  const writer = new ArchiveWriter(other, S + 1_000)
  t.equal(writer.hwm_s, S + 995)
  t.strictSame(writer.objects(), [])
  await writer.close()
  t.strictSame(await checkArchiveDirectory(other), [])
})

t.test('an archive without seals is adopted, its chunks unchanged', async (t) => {
  const directory = temporaryFolder(t)
  await filled(directory)
  const { environment } = openArchiveDatabases(directory)
  for (const name of TABLES) {
    const table = openBinaryDatabase(environment, name)
    for (const { key, value } of [...table.getRange()].map((row) => ({
      key: row.key,
      value: Uint8Array.from(row.value),
    }))) {
      if (name === 'meta' && key.every((byte) => byte === 0)) continue
      const body = value.subarray(0, value.length - 4)
      if (/^t\d/.test(name)) body[0] = 1
      table.putSync(key, body)
    }
  }
  openBinaryDatabase(environment, 'meta').putSync(META_SCHEMA, makeKey(1, 0))
  await environment.close()
  t.strictSame(await checkArchiveDirectory(directory), [], 'before its adoption')
  const writer = new ArchiveWriter(directory, S + SECONDS)
  t.equal(writer.hwm_s, S + SECONDS - 5)
  writeSeconds(writer, 'fe', 60, () => 3)
  await writer.close()
  t.strictSame(await checkArchiveDirectory(directory), [])
  const again = openArchiveDatabases(directory)
  t.ok(again.meta.get(META_PROGRESS))
  t.strictSame(again.damage.places, [])
  await again.environment.close()
})
