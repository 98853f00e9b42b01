import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { majorVersions } from '../../../../src/machine/updates/major-versions.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'

const version = (versionNumber: string) => ({
  versionNumber,
  osRelease: 'Debian 13',
  changelogURL: 'https://x.test/',
  osUpdate: true,
  suites: [{ from: 'bookworm', to: 'trixie' }],
})

t.test('newer versions only, oldest first; no file offers none', async (test) => {
  const file = join(temporaryFolder(test, 'versions'), 'major-versions.json')
  test.same(majorVersions(file, '1.0'), [])
  writeFileSync(file, JSON.stringify(['10.0', '2.0', '1.0', '0.9'].map(version)))
  test.same(
    majorVersions(file, '1.0').map(({ versionNumber }) => versionNumber),
    ['2.0', '10.0'],
  )
})

t.test('a broken list is reported, not guessed', async (test) => {
  const file = join(temporaryFolder(test, 'versions'), 'major-versions.json')
  for (const broken of [
    {},
    [null],
    [{ ...version('2'), osUpdate: 'yes' }],
    [{ ...version('2'), suites: [{ from: 'a' }] }],
    [{ ...version('2'), suites: [null] }],
    [{ ...version('2'), osRelease: '' }],
  ]) {
    writeFileSync(file, JSON.stringify(broken))
    test.throws(() => majorVersions(file, '1'), /is not a list of versions/)
  }
  writeFileSync(file, '[')
  test.throws(() => majorVersions(file, '1'))
})
