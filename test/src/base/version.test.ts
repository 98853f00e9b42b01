import { readFileSync } from 'node:fs'
import t from 'tap'
import { VERSION } from '../../../src/base/version.ts'

t.test('the version is that of package.json', async (test) => {
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
  test.equal(VERSION, version)
  test.match(VERSION, /^\d+\.\d+\.\d+/)
})
