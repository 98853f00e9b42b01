import t from 'tap'
import { PeerError, whyOf } from '../../../src/peers/peer-error.ts'

t.test('the reason of a failed connection, in words', (test) => {
  const coded = (code: string) => whyOf(Object.assign(new Error('x'), { code }))
  test.equal(coded('ECONNREFUSED'), 'it refuses connections')
  test.equal(coded('CERT_REVOKED'), 'its certificate is not accepted (CERT_REVOKED)')
  test.match(coded('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'), /does not accept this node's certificate/)
  test.equal(coded('EPIPE'), 'its connection broke (EPIPE)')
  test.equal(whyOf(new TypeError('x')), 'its connection broke (TypeError)')
  test.equal(whyOf(new PeerError('unreachable', 'it sleeps')), 'it sleeps')
  test.end()
})
