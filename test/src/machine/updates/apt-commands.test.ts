import t from 'tap'
import {
  majorSteps,
  packageSteps,
  refresh,
  REPAIR,
  upgradeSteps,
} from '../../../../src/machine/updates/apt-commands.ts'
import type { DetachedStep } from '../../../../workers/detached/plan.ts'

const argvOf = (steps: readonly DetachedStep[]) =>
  steps.map((step) => (step.kind === 'program' ? step.argv.join(' ') : step.kind))

t.test('nothing asks a question, and changed configuration files stay', async (test) => {
  const all = [...upgradeSteps(['/x/a.deb']), ...packageSteps('haproxy'), ...REPAIR]
  for (const line of argvOf(all).filter((one) => /apt-get|dpkg --/.test(one))) {
    test.match(line, /DEBIAN_FRONTEND=noninteractive/, line)
    test.match(line, /--force-confdef/, line)
    test.match(line, /--force-confold/, line)
    test.match(line, /^env --unset=no_proxy/, 'apt would match it by suffixes of names')
  }
})

t.test('an update: repair, refresh, install; uploaded files last, and they are deleted', async (test) => {
  const plain = argvOf(upgradeSteps([]))
  test.match(plain, [
    /dpkg-query/,
    /--configure -a$/,
    /--fix-broken install$/,
    /update$/,
    /dist-upgrade$/,
    /clean$/,
    /dpkg-query/,
  ])
  const asking = upgradeSteps([]).find(({ why }) => why === refresh().why)
  test.notMatch(asking, { mayFail: true }, 'without the repositories there is nothing to install')
  const files = upgradeSteps(['/x/a.deb', '/x/b.deb'])
  test.match(argvOf(files).slice(5), [/install \/x\/a\.deb \/x\/b\.deb$/, /^rm -f -- \/x\/a\.deb \/x\/b\.deb$/])
  test.match(
    files.find(({ why }) => why === refresh().why),
    { mayFail: true },
    'an upload needs no network',
  )
})

t.test('a major version: a separate check, then a snapshot, then the sources, which can be restored', async (test) => {
  const change = { folder: '/job', files: ['/etc/apt/sources.list'], suites: [{ from: 'a', to: 'b' }] }
  const lines = argvOf(majorSteps({ ...change, snapshot: ['lvcreate', 'x'] }))
  const at = (pattern: RegExp) => lines.findIndex((line) => pattern.test(line))
  const [trial, snapshot, upgrade] = [at(/sourceparts=\/job\/sources/), at(/^lvcreate x$/), at(/dist-upgrade/)]
  test.ok(trial >= 0 && trial < snapshot && snapshot < upgrade, lines.join('\n'))
  test.equal(lines[snapshot + 1], 'suites')
  const refreshed = majorSteps({ ...change, snapshot: undefined }).find(
    (step) => step.kind === 'program' && step.otherwise !== undefined,
  )
  test.match(refreshed, { otherwise: [{ kind: 'putBack' }, { mayFail: true }] })
  test.notOk(argvOf(majorSteps({ ...change, snapshot: undefined })).includes('lvcreate x'))
})
