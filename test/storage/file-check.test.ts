import { randomBytes } from 'node:crypto'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { assertWholeFile, brokenFile } from '../../storage/file-check.ts'
import { LmdbConfigStore } from '../../storage/config/lmdb-config-store.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { stageIn } from '../fixtures/entries.ts'

async function filledStore(test: Test) {
  const folder = temporaryFolder(test, 'file-check')
  const store = new LmdbConfigStore(folder)
  for (let i = 0; i < 40; i += 1) {
    const writes = Array.from({ length: 20 }, (_, n) => ({
      section: 's',
      scope: '',
      key: `${i}-${n}`,
      value: 'x'.repeat(500),
    }))
    await stageIn(store, writes, { actor: '', endpoint: '', at: '2026-01-01T00:00:00.000Z' })
    assertWholeFile(folder)
  }
  await store.close()
  return { folder, file: join(folder, 'data.mdb') }
}

t.test('a store in every state of its life is whole; no store and an empty file are', async (test) => {
  const { folder, file } = await filledStore(test)
  assertWholeFile(folder)
  assertWholeFile(join(folder, 'none'))
  writeFileSync(file, '')
  assertWholeFile(folder)
})

t.test('a damaged file is refused with its name, instead of ending the process', async (test) => {
  const { folder, file } = await filledStore(test)
  const whole = readFileSync(file)
  const used = whole.lastIndexOf('xxx')
  const damages: Record<string, () => void> = {
    random: () => writeFileSync(file, randomBytes(whole.length)),
    'cut to a page': () => truncateSync(file, 4096),
    // After the used part is the space for later data.
    'cut in half and more': () => truncateSync(file, Math.floor(used / 3)),
    'cut to some bytes': () => truncateSync(file, 100),
    text: () => writeFileSync(file, 'hello '.repeat(9000)),
  }
  for (const [title, damage] of Object.entries(damages)) {
    writeFileSync(file, whole)
    damage()
    test.throws(() => assertWholeFile(folder), new RegExp(`${file} is damaged .*; docs/reliability.md`), title)
    test.throws(() => new LmdbConfigStore(folder), /is damaged/, title)
  }
})

t.test('an empty file of a used store is broken as well', async (test) => {
  const { folder, file } = await filledStore(test)
  test.equal(brokenFile(folder), undefined)
  writeFileSync(file, '')
  test.match(brokenFile(folder), /is damaged \(it is empty\); docs\/reliability\.md, "Recovery"/)
})
