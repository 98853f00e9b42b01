import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import t from 'tap'
import { secureOptionsOf, shownIn } from '../../../src/peers/peer-tls.ts'
import { newAuthority } from '../../fixtures/cluster-authority.ts'
import { testNode } from '../../fixtures/peers.ts'

t.test('the node that a certificate names, and its key', async (test) => {
  const authority = await newAuthority()
  const { nodeId, pin, credentials } = await testNode(authority, 'lb1')
  const certificate = new X509Certificate(credentials.certificate)
  test.same(shownIn(certificate), { nodeId, pin })
  test.same(shownIn(certificate.raw), { nodeId, pin })
  test.equal(shownIn(new X509Certificate(authority.certificate)), undefined, 'an authority is no node')
  test.equal(shownIn(Buffer.from('no certificate')), undefined)
})

t.test('TLS 1.3, with a revocation list if there is one', async (test) => {
  const authority = await newAuthority()
  const { credentials } = await testNode(authority, 'lb1')
  const options = secureOptionsOf(credentials)
  test.match(options, { minVersion: 'TLSv1.3', key: credentials.key, ca: authority.certificate })
  test.equal(options.cert, `${credentials.certificate}${authority.certificate}`, 'the whole chain')
  test.notOk('crl' in options)
  const crls = [await authority.revocationList([], 1)]
  test.ok(createSecureContext(secureOptionsOf({ ...credentials, crls })))
})
