import t from 'tap'
import { etcdVersion, versionProblem } from '../../../src/etcd/version.ts'

const said = (version: string) => `etcd Version: ${version}\nGit SHA: Not provided\nGo Version: go1.24.0\n`

t.test('the version that etcd reports', async (test) => {
  test.equal(etcdVersion(said('3.5.16')), '3.5.16')
  test.equal(etcdVersion(said('3.6.0-rc.1')), '3.6.0-rc.1')
  test.equal(etcdVersion('command not found'), undefined)
})

t.test('one that is too old is refused with what to install', async (test) => {
  for (const version of ['3.5.0', '3.5.30', '3.6.1', '4.0.0'])
    test.equal(versionProblem(said(version)), undefined, version)
  test.equal(
    versionProblem(said('3.4.23')),
    'etcd 3.4.23 is too old: install the package etcd-server of Debian 13 (trixie) or later, at least 3.5',
  )
  test.match(versionProblem(said('2.9.0')), /too old/)
  test.match(versionProblem('nonsense'), /its version is unknown: install/)
})
