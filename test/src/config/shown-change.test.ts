import t from 'tap'
import { shownChange } from '../../../src/config/shown-change.ts'
import { certificateRecord } from '../../fixtures/certificate.ts'
import { realServer, user } from '../../fixtures/config.ts'

t.test('an update shows the differences, secrets masked', async (test) => {
  const [before, after] = [user('u'), user('u', { passwordHash: 'another', lastName: 'C' })]
  test.same(shownChange({ section: 'users', id: 'u', before, after }), {
    op: 'update',
    resource: 'users',
    resourceId: 'u',
    name: 'u@example.test',
    before: { passwordHash: '**', lastName: 'B' },
    after: { passwordHash: '**', lastName: 'C' },
  })
})

t.test('a creation shows the record, and so does a deletion', async (test) => {
  const record = realServer('r')
  test.match(shownChange({ section: 'realServers', id: 'r', before: undefined, after: record }), {
    op: 'create',
    before: null,
    after: record,
  })
  test.match(shownChange({ section: 'realServers', id: 'r', before: record, after: undefined }), {
    op: 'delete',
    before: record,
    after: null,
  })
})

t.test('certificates are their subject, expiry and SHA-256, at any place', async (test) => {
  const [before, after] = [await certificateRecord(test, 'c'), await certificateRecord(test, 'd')]
  const shownAs = ({ facts }: typeof before) => [{ subject: /CN=/, validTo: facts.validTo, sha256: facts.fingerprint }]
  const replaced = shownChange({
    section: 'certificates',
    id: 'c',
    before,
    after: { ...after, id: 'c', name: before.name },
  })
  test.same(Object.keys(replaced.after ?? {}).toSorted(), ['chain', 'privateKey'])
  test.match(replaced, {
    before: { chain: shownAs(before), privateKey: '**' },
    after: { chain: shownAs(after), privateKey: '**' },
  })
  const saml = {
    id: 'cluster',
    enabled: false,
    enforced: false,
    idpEntityId: '',
    idpSsoUrl: '',
    idpCertificates: [before.chain],
    baseUrl: '',
    emailAttribute: '',
    breakGlassUserId: '',
  }
  const created = shownChange({ section: 'samlConfigs', id: 'cluster', before: undefined, after: saml })
  test.match(created.after, { idpCertificates: shownAs(before) })
  test.notMatch(JSON.stringify([replaced, created]), /BEGIN/)
})
