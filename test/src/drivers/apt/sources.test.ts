import t from 'tap'
import { suitesOf, withSuites } from '../../../../src/drivers/apt/sources.ts'

const SUITES = [
  { from: 'bookworm', to: 'trixie' },
  { from: 'bookworm-security', to: 'trixie-security' },
]

const LIST = `# deb http://deb.debian.org/debian bookworm main
deb http://deb.debian.org/debian bookworm main contrib
deb [signed-by=/etc/apt/bookworm.gpg arch=amd64] http://user:bookworm@repo.test/bookworm  bookworm main
deb-src\thttp://security.debian.org bookworm-security main
deb file:/srv/repo ./
`

t.test('only the suite of a line changes', async (test) => {
  const changed = withSuites(LIST, '/etc/apt/sources.list', SUITES)
  test.equal(
    changed,
    LIST.replace('debian bookworm main c', 'debian trixie main c')
      .replace('  bookworm main', '  trixie main')
      .replace('org bookworm-security', 'org trixie-security'),
  )
  test.equal(withSuites(changed, 'a.list', SUITES), changed, 'a second time changes nothing')
  test.same(suitesOf(LIST, 'a.list'), ['bookworm', 'bookworm-security', './'])
})

t.test('paragraphs name several suites', async (test) => {
  const text =
    'Types: deb\nURIs: http://x/bookworm\nSuites: bookworm bookworm-security bookworm-backports\nComponents: main\n'
  test.equal(
    withSuites(text, 'debian.sources', SUITES),
    'Types: deb\nURIs: http://x/bookworm\nSuites: trixie trixie-security bookworm-backports\nComponents: main\n',
  )
  test.same(suitesOf(text, 'debian.sources'), ['bookworm', 'bookworm-security', 'bookworm-backports'])
})

t.test('they may be on several lines', async (test) => {
  const text = `Types: deb
Suites:
 bookworm
# bookworm
\tbookworm-security
Signed-By:
 bookworm
Components: main

Types: deb
 bookworm
`
  const changed = text.replace(' bookworm\n#', ' trixie\n#').replace('\tbookworm-security', '\ttrixie-security')
  test.equal(withSuites(text, 'debian.sources', SUITES), changed)
  test.same(suitesOf(text, 'debian.sources'), ['bookworm', 'bookworm-security'])
})
