import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createDurably, openFolder, removeDurably } from '../../../src/backup/durable-file.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const portions = (...texts: readonly string[]) => texts.map((text) => Buffer.from(text))

t.test('a file gets the first free name, is for its owner only and never replaces another', async (test) => {
  const folder = temporaryFolder(test, 'durable')
  test.equal(await createDurably(folder, ['a', 'b'], portions('x', '', 'y')), 'a')
  test.equal(await createDurably(folder, ['a', 'b'], portions('z')), 'b')
  await test.rejects(createDurably(folder, ['a', 'b'], portions('z')), /all names/)
  test.same(readdirSync(folder), ['a', 'b'])
  test.equal(readFileSync(join(folder, 'a'), 'utf8'), 'xy')
  test.equal(statSync(join(folder, 'a')).mode & 0o777, 0o600)
})

t.test('an incomplete file leaves nothing', async (test) => {
  const folder = temporaryFolder(test, 'durable')
  function* broken() {
    yield Buffer.from('half')
    throw new Error('no more')
  }
  await test.rejects(createDurably(folder, ['a'], broken()), /no more/)
  test.same(readdirSync(folder), [])
})

t.test('opening a folder creates it and deletes the remains of a crash', async (test) => {
  const folder = join(temporaryFolder(test, 'durable'), 'deep', 'er')
  await openFolder(folder)
  test.equal(statSync(folder).mode & 0o777, 0o700)
  writeFileSync(join(folder, '.unfinished-0123'), 'half')
  writeFileSync(join(folder, 'whole'), '')
  await openFolder(folder)
  test.same(readdirSync(folder), ['whole'])
  test.equal(await removeDurably(folder, 'whole'), true)
  test.equal(await removeDurably(folder, 'whole'), false)
})
