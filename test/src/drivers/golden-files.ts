import { readdirSync, readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { Value } from 'typebox/value'
import type { Driver } from '../../../src/drivers/driver.ts'
import { SECTIONS, type SectionName } from '../../../src/model/sections.ts'
import { type Records, viewOf } from '../../fixtures/view.ts'

/** Files in sequence, each under its path. */
const joined = (files: readonly { readonly path: string; readonly content: string }[]) =>
  files.map(({ path, content }) => `==> ${path}\n${content}`).join('')

/** Each NAME.json of the folder holds records of node `node`, NAME.txt every file rendered from them. */
export function goldenFiles(
  test: Test,
  folder: string,
  driver: Driver,
  render: (records: Records) => readonly { readonly path: string; readonly content: string }[],
): void {
  const url = new URL(`../../golden/${folder}/`, import.meta.url)
  for (const name of readdirSync(url).filter((file) => file.endsWith('.json'))) {
    const records: Records = JSON.parse(readFileSync(new URL(name, url), 'utf8'))
    for (const [section, list] of Object.entries(records)) {
      const { schema } = SECTIONS[section as SectionName]
      for (const record of list)
        test.ok(Value.Check(schema, record), `${name}: ${section} ${record.id} fits its schema`)
    }
    test.same(driver.verify(viewOf(records)), [], `${name}: the driver finds no problem`)
    test.equal(joined(render(records)), readFileSync(new URL(name.replace('.json', '.txt'), url), 'utf8'), name)
  }
}
