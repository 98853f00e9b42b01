import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { LmdbConfigStore } from '../../storage/config/lmdb-config-store.ts'
import { assertWholeFile } from '../../storage/file-check.ts'
import { ArchiveWriter } from '../../storage/archive/writer.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { seededRandom } from './archive/reference-model.ts'
import { writeSeconds } from './temporary-archive.ts'
import { promoteIn, stageIn } from '../fixtures/entries.ts'

const PAGE = 4_096

/** Branches, leaves, overflow pages, freed pages and several tables. */
async function filled(test: Test): Promise<string> {
  const folder = temporaryFolder(test, 'pages')
  const store = new LmdbConfigStore(folder)
  const origin = { actor: '', endpoint: '', at: '' }
  for (let round = 0; round < 6; round++) {
    const keys = Array.from({ length: 150 }, (_, n) => `${(n * 7919 + round) % 1000}`)
    const value = 'x'.repeat(round === 3 ? 20_000 : 300)
    await stageIn(
      store,
      keys.map((key) => ({ section: 's', scope: '', key, value })),
      origin,
    )
    const header = { applyId: '', revision: round + 1, by: '', at: '', comment: '' }
    await promoteIn(store, store.changes(), header)
  }
  await store.close()
  return folder
}

const fault = (folder: string): string => {
  try {
    assertWholeFile(folder, { everyPage: true })
    return ''
  } catch (error) {
    return String(error)
  }
}

t.test('files of LMDB are whole: a configuration and an archive', async (test) => {
  test.equal(fault(await filled(test)), '')
  const archive = temporaryFolder(test, 'archive')
  const writer = new ArchiveWriter(archive, 1_700_000_000)
  writeSeconds(writer, 'fe', 400, (metric, second) => metric * second)
  await writer.close()
  test.equal(fault(archive), '')
})

/** Writes bytes into the file and returns the old ones. */
function overwrite(file: string, at: number, bytes: Uint8Array): Buffer {
  const before = Buffer.alloc(bytes.length)
  const open = openSync(file, 'r+')
  readSync(open, before, 0, bytes.length, at)
  writeSync(open, bytes, 0, bytes.length, at)
  closeSync(open)
  return before
}

/** Returns branches and leaves, in use or freed. */
function pagesOf(file: string): readonly number[] {
  const whole = readFileSync(file)
  return Array.from({ length: whole.length / PAGE }, (_, page) => page).filter((page) => {
    const isTree = (whole.readUInt16LE(page * PAGE + 18) & 3) !== 0
    return page > 1 && isTree && whole.readBigUInt64LE(page * PAGE) === BigInt(page)
  })
}

/** Some pages that LMDB uses: when zeroed, they are found. */
function usedPages(folder: string, file: string, random: () => number, test: Test): readonly number[] {
  const pages = pagesOf(file)
  return Array.from({ length: 40 }, () => pages[Math.floor(random() * pages.length)] ?? 2).filter((page) => {
    const before = overwrite(file, page * PAGE, new Uint8Array(PAGE))
    const found = fault(folder)
    if (found !== '') test.match(found, new RegExp(`page ${page} .*Recovery`))
    overwrite(file, page * PAGE, before)
    return found !== ''
  })
}

const STORE = fileURLToPath(new URL('../../storage/config/lmdb-config-store.ts', import.meta.url))
const OPENS = `const { LmdbConfigStore } = await import(${JSON.stringify(STORE)}); try { new LmdbConfigStore(process.argv[1]) } catch (error) { console.log(error.message) }`

t.test('a zeroed page in use is named, and ends no process with a signal', async (test) => {
  const folder = await filled(test)
  const file = join(folder, 'data.mdb')
  const used = usedPages(folder, file, seededRandom(3), test)
  test.ok(used.length > 3, `${used.length} of 40 pages were in use`)
  for (const page of used.slice(0, 3)) {
    const before = overwrite(file, page * PAGE, new Uint8Array(PAGE))
    const opened = spawnSync(process.execPath, ['--input-type=module', '-e', OPENS, folder], { encoding: 'utf8' })
    test.equal(opened.signal, null)
    test.match(opened.stdout, /is damaged/)
    overwrite(file, page * PAGE, before)
  }
  test.equal(fault(folder), '')
})

t.test('most flipped bits in the lists of nodes are found here, the others by the checksums of rows', async (test) => {
  const folder = await filled(test)
  const file = join(folder, 'data.mdb')
  const random = seededRandom(4)
  const used = usedPages(folder, file, random, test)
  let found = 0
  for (let round = 0; round < 100; round++) {
    const page = used[round % used.length] ?? 2
    const at = page * PAGE + 18 + Math.floor(random() * 12)
    const [byte = 0] = overwrite(file, at, new Uint8Array(1))
    overwrite(file, at, Uint8Array.of(byte ^ (1 << Math.floor(random() * 8))))
    if (fault(folder) !== '') found += 1
    overwrite(file, at, Uint8Array.of(byte))
  }
  test.ok(found > 50, `${found} of 100`)
  test.equal(fault(folder), '')
})
