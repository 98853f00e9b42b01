import t from 'tap'
import { openReferences, partContents } from '../../../src/backup/part-restore.ts'
import { SOME } from '../../fixtures/backup.ts'
import { backend, realServer } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

const part = (sections: readonly string[], fipActive = false) => partContents(SOME, { file: 'f', sections, fipActive })

const HOW_THEY_LOG_IN = ['radiusConfigs', 'radiusUsers', 'samlConfigs', 'oidcConfigs', 'loginPolicies']

t.test('a part is the requested sections', (test) => {
  test.same(Object.keys(part(['rbac'])), ['users', 'groups', 'roles', ...HOW_THEY_LOG_IN])
  test.same(part(['gslb', 'fallbackServer']), {})
  test.end()
})

t.test('floating IPs are enabled only on request', (test) => {
  test.match(part(['fip']), { floatingIps: [{ enabled: false }] })
  test.match(part(['fip'], true), { floatingIps: [{ enabled: true }] })
  test.end()
})

t.test('open references name the section that closes them, from either side', (test) => {
  const open = (sections: readonly string[], candidate: Parameters<typeof viewOf>[0]) =>
    openReferences(part(sections), viewOf(candidate), { file: 'f', sections })
  test.match(open(['layer7proxy'], {}), [
    { field: 'sections', message: /be refers to the real server .*add the section realServers/ },
  ])
  const other = { realServers: [realServer('other')], l7Backends: [backend('b2', ['other'])] }
  test.match(open(['realServers'], other), [{ message: /b2 refers to the real server .*add the section layer7proxy/ }])
  test.match(open(['fip'], {}), [{ message: /floating IP 192\.0\.2\.10.*create it first, or make a full restore/ }])
  test.same(open(['layer7proxy', 'realServers'], other), [])
  test.end()
})
