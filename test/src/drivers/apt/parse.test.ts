import { readFileSync } from 'node:fs'
import t from 'tap'
import {
  changedPackages,
  debFields,
  downloadBytes,
  INSTALLED_FORMAT,
  parseInstallations,
  parseShow,
  pendingPackages,
} from '../../../../src/drivers/apt/parse.ts'

const fixture = (name: string) => readFileSync(new URL(`../../../fixtures/apt-2.6/${name}`, import.meta.url), 'utf8')

t.test('the packages that a simulated upgrade would install', async (test) => {
  const found = parseInstallations(fixture('simulate.txt'))
  const lines = found.map(({ name, currentVersion, pendingVersion }) => `${name} ${currentVersion} ${pendingVersion}`)
  test.same(lines.toSorted(), [
    'bash 5.2.15-2+b8 5.2.15-2+b13',
    'libc6 2.36-9 2.36-10',
    'libext2fs2 1.47.0-2 1.47.0-2+b2',
    'libgcrypt20 1.10.1-3 1.10.1-3+deb12u1',
    'libgcrypt20-dev 1.10.1-3 1.10.1-3+deb12u1',
    'libpam-modules-bin 1.5.2-6+deb12u1 1.5.2-6+deb12u2',
    'linux-image-6.1.0-40-amd64  6.1.153-1',
  ])
  const one = (name: string) => found.find((candidate) => candidate.name === name)
  test.match(one('bash'), { architecture: 'amd64', repository: 'Debian:12.15', release: 'oldstable', security: false })
  test.match(
    one('libgcrypt20'),
    { repository: 'Debian-Security:12', release: 'oldstable-security', security: true },
    'in both repositories: the relevant one',
  )
  test.match(one('linux-image-6.1.0-40-amd64'), { currentVersion: '', security: true })
  test.match(one('libc6'), { architecture: 'i386' })
  test.match(
    parseInstallations('Inst local [1] (2 localhost [all])\nInst bare [1] (2 [all])'),
    [
      { repository: 'localhost', release: '', security: false },
      { repository: '', release: '' },
    ],
    'repositories that do not name themselves',
  )
})

t.test('packages with their own descriptions', async (test) => {
  const shown = parseShow(fixture('show.txt'))
  test.match(shown, [
    { name: 'bash', version: '5.2.15-2+b13', summary: 'GNU Bourne Again SHell', description: '' },
    { name: 'libgcrypt20', url: 'https://directory.fsf.org/project/libgcrypt/' },
  ])
  test.match(parseShow('Package: a\nDescription-en: short\n long\n .\n  more\nHomepage: x\n'), [
    { summary: 'short', description: 'long\n\n more', url: 'x' },
  ])
  const pending = pendingPackages(fixture('simulate.txt'), fixture('show.txt'))
  test.same(
    pending.map(({ name }) => name),
    pending.map(({ name }) => name).toSorted(),
  )
  test.match(pending[0], {
    name: 'bash',
    summary: 'GNU Bourne Again SHell',
    license: '',
    currentVersion: '5.2.15-2+b8',
  })
  test.match(pending[1], { name: 'libc6', summary: '', url: '' }, 'of which nothing is known')
})

t.test('bytes to download', async (test) => {
  test.equal(downloadBytes(fixture('print-uris.txt')), 906_972 + 1_373_116 + 309_596)
  test.equal(downloadBytes(''), 0)
})

t.test('changes between two lists', async (test) => {
  test.equal(
    INSTALLED_FORMAT,
    String.raw`${'$'}{Package} ${'$'}{Architecture} ${'$'}{Version} ${'$'}{db:Status-Status}\n`,
  )
  const before = 'a amd64 1 installed\nb amd64 1 installed\nc all 1 installed\nd all 1 config-files\n'
  const after = 'a amd64 2 installed\na i386 2 installed\nb amd64 1 installed\nd all 1 installed\n'
  test.same(changedPackages(before, after), [
    { name: 'a', from: '1', to: '2' },
    { name: 'a', from: '', to: '2' },
    { name: 'c', from: '1', to: '' },
    { name: 'd', from: '', to: '1' },
  ])
})

t.test('fields of a package file', async (test) => {
  const text = 'Package: extra\nVersion: 1:2.0-1\nArchitecture: all\n'
  test.same(debFields(text), { name: 'extra', version: '1:2.0-1', arch: 'all' })
  test.same(debFields('Package: two words\n'), { name: '', version: '', arch: '' })
})
