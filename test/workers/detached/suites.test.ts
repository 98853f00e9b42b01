import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { changeSuites, putBack } from '../../../workers/detached/suites.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const SUITES = [{ from: 'one', to: 'two' }]
const step = (files: readonly string[], into?: string) =>
  ({ kind: 'suites', why: 'try', weight: 1, files, suites: SUITES, ...(into === undefined ? {} : { into }) }) as const

t.test('copies change nothing; a change can be undone, also when it was made twice', async (test) => {
  const folder = temporaryFolder(test, 'suites')
  const sources = join(folder, 'sources')
  mkdirSync(sources)
  const [list, paragraphs] = [join(sources, 'a.list'), join(sources, 'b.sources')]
  writeFileSync(list, 'deb http://x one main\n', { mode: 0o640 })
  writeFileSync(paragraphs, 'Suites: one\n')
  const work = join(folder, 'work')
  mkdirSync(work)
  const read = () => [list, paragraphs].map((file) => readFileSync(file, 'utf8'))
  const before = read()
  test.equal(await changeSuites(work, step([list, paragraphs], 'copies')), undefined)
  test.same(read(), before)
  test.equal(readFileSync(join(work, 'copies/a.list'), 'utf8'), 'deb http://x two main\n')
  for (const _ of ['first', 'again']) test.equal(await changeSuites(work, step([list, paragraphs])), undefined)
  test.same(read(), ['deb http://x two main\n', 'Suites: two\n'])
  test.equal(await putBack(work), undefined)
  test.same(read(), before)
  test.match(await changeSuites(work, step([join(sources, 'gone.list')])), /ENOENT/)
})

t.test('everything except a suite stays byte for byte, in any encoding', async (test) => {
  const folder = temporaryFolder(test, 'suites')
  const [latin, utf8] = [join(folder, 'latin.list'), join(folder, 'utf8.list')]
  const texts = [
    [latin, Buffer.from('# f\u00fcr à\ndeb http://x one main\n', 'latin1')],
    [utf8, Buffer.from('# für à\ndeb http://x one main\n')],
  ] as const
  for (const [file, text] of texts) writeFileSync(file, text)
  test.equal(await changeSuites(folder, step([latin, utf8])), undefined)
  for (const [file, text] of texts) {
    const changed = Buffer.from(text.toString('latin1').replace(' one ', ' two '), 'latin1')
    test.same(readFileSync(file), changed, file)
  }
  test.equal(await putBack(folder), undefined)
  for (const [file, text] of texts) test.same(readFileSync(file), text, file)
})
