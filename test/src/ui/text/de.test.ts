import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { BACKUP_SECTIONS } from '../../../../src/backup-file/sections.ts'
import { german } from '../../../../src/ui/text/de.ts'
import { germanOfSections } from '../../../../src/ui/text/de-backups.ts'
import { germanOfEvents } from '../../../../src/ui/text/de-events.ts'

const root = fileURLToPath(new URL('../../../../src/ui/', import.meta.url))
const sources = globSync('**/*.{ts,tsx}', { cwd: root }).filter((file) => !file.startsWith('text/'))
const code = sources.map((file) => readFileSync(`${root}${file}`, 'utf8')).join('\n')
const said = new Set([...code.matchAll(/(?<![\w.])t\(\s*'([^']+)'/g)].map(([, text = '']) => text))
/** States of answers that no source of the page contains. */
const FROM_THE_API = ['offline', ...[germanOfEvents, germanOfSections].flatMap(Object.keys)]
const places = (text: string) => [...text.matchAll(/\{(\w+)/g)].map(([, name = '']) => name).toSorted()

t.test('German has every text of the page', async (test) => {
  test.ok(said.size > 200)
  test.same(
    [...said].filter((text) => !Object.hasOwn(german, text)),
    [],
  )
})

t.test('German has each state of an event in the sources of the daemon', async (test) => {
  const daemon = fileURLToPath(new URL('../../../../src/', import.meta.url))
  const others = globSync('**/*.ts', { cwd: daemon, exclude: ['ui/**', 'daemon/**'] })
  const states = new Set(
    others.flatMap((file) =>
      [
        ...readFileSync(`${daemon}${file}`, 'utf8').matchAll(/(?:tell|publish)\((?:'\w+', )?\{\s*state: ([^,}]*)/g),
      ].flatMap(([, state = '']) => [...state.matchAll(/'([^']+)'/g)].map(([, text = '']) => text)),
    ),
  )
  test.ok(states.size > 25, `${states.size} states`)
  test.same(
    [...states].filter((text) => !Object.hasOwn(german, text)),
    [],
  )
})

t.test('German has each section of a backup that can be restored alone', async (test) => {
  const names = BACKUP_SECTIONS.filter(({ partRestore }) => partRestore).map(({ nameFull }) => nameFull)
  test.same(Object.keys(germanOfSections).toSorted(), names.toSorted())
})

t.test('German has no text that the page lacks', async (test) => {
  const quoted = new Set([...said, ...FROM_THE_API, ...[...code.matchAll(/'([^'\n]*)'/g)].map(([, text = '']) => text)])
  test.same(
    Object.keys(german).filter((text) => !quoted.has(text) && !new RegExp(String.raw`\b${text}\??: `).test(code)),
    [],
  )
})

t.test('each placeholder of a text is filled in both languages', async (test) => {
  for (const [english, text] of Object.entries(german)) test.same(places(text), places(english), english)
})
