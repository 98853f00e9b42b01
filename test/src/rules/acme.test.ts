import t from 'tap'
import type { Certificate } from '../../../src/model/certificates.ts'
import {
  digestOf,
  nextTry_ms,
  progressOf,
  renewalOf_ms,
  thumbprintOf,
  waitAfter_s,
  whyNoRoot,
  whyRefused,
  isNameServer,
} from '../../../src/rules/acme.ts'
import { acmeAccount, acmeOrder } from '../../fixtures/acme.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'

const DAY_MS = 86_400_000
const FROM_MS = Date.parse('2026-01-01T00:00:00Z')
/** A certificate that is valid for so many days. */
const lasting = (days: number) => {
  const [validFrom, validTo] = [new Date(FROM_MS).toISOString(), new Date(FROM_MS + days * DAY_MS).toISOString()]
  return { facts: { validFrom, validTo } } as Certificate
}

t.test('the thumbprint is that of RFC 7638; an unreadable key has none', async (test) => {
  // The example of RFC 7638, section 3.1, has this thumbprint; its private half does not matter.
  const publicKey = `-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA0vx7agoebGcQSuuPiLJX
ZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tS
oc/BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ/2W+5JsGY4Hc5n9yBXArwl93lqt
7/RN5w6Cf0h4QyQ5v+65YGjQR0/FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0
zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt+bFTWhAI4vMQFh6WeZu0f
M4lFd2NcRwr3XPksINHaQ+G/xBniIqbw0Ls1jF44+csFCur+kEgU8awapJzKnqDK
gwIDAQAB
-----END PUBLIC KEY-----
`
  test.equal(thumbprintOf(acmeAccount('a', { privateKey: publicKey })), 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs')
  test.match(thumbprintOf(acmeAccount('b')), /^[A-Za-z0-9_-]{43}$/)
  test.equal(thumbprintOf(acmeAccount('c', { privateKey: 'none' })), undefined)
})

t.test('the progress of one order says nothing about another', async (test) => {
  const account = acmeAccount('a')
  const of = digestOf(acmeOrder('o', 'a'), account)
  const progress = { of, orderUrl: 'https://ca.test/1' }
  test.same(progressOf(acmeOrder('o', 'a', { progress }), account), progress)
  const others = [
    acmeOrder('o', 'a', { progress, names: ['other.test'] }),
    acmeOrder('o', 'a', { progress, keyType: 'rsa2048' }),
  ]
  for (const other of others) test.same(Object.keys(progressOf(other, account)), ['of'])
  test.same(Object.keys(progressOf(acmeOrder('o', 'a', { progress }), acmeAccount('a'))), ['of'], 'another key')
})

t.test('a certificate is renewed at two thirds of its lifetime, and ordered at once if there is none', async (test) => {
  const certificate = lasting(90)
  test.equal(renewalOf_ms(certificate), FROM_MS + 60 * DAY_MS)
  test.equal(nextTry_ms({ of: '' }, certificate, FROM_MS), 0)
  const issued = { of: '', issued: 'AA', issuedAt_ms: FROM_MS }
  test.equal(nextTry_ms(issued, certificate, FROM_MS + DAY_MS), FROM_MS + 60 * DAY_MS)
  test.equal(nextTry_ms({ ...issued, asked: true }, certificate, FROM_MS + DAY_MS), 0)
  test.equal(nextTry_ms({ ...issued, orderUrl: 'x' }, certificate, FROM_MS + DAY_MS), 0, 'one is in progress')
})

t.test('a wrong clock neither delays an order nor orders repeatedly', async (test) => {
  const certificate = lasting(90)
  const failed = { of: '', failures: 9, failedAt_ms: FROM_MS, wait_s: 86_400 }
  test.equal(nextTry_ms(failed, certificate, FROM_MS + 1), FROM_MS + DAY_MS)
  test.equal(nextTry_ms(failed, certificate, FROM_MS - 1), 0, 'it was set back')
  const now_ms = FROM_MS + 80 * DAY_MS
  const fresh = { of: '', issued: 'AA', issuedAt_ms: now_ms }
  test.equal(nextTry_ms(fresh, certificate, now_ms), now_ms + DAY_MS, 'it was set forward: once a day')
  const short = { ...fresh, issuedAt_ms: FROM_MS }
  test.equal(nextTry_ms(short, lasting(0.3), FROM_MS), Math.round(FROM_MS + 0.2 * DAY_MS), 'a short lifetime counts')
})

t.test("waits double up to a day, and are no shorter than the CA's", async (test) => {
  test.same(
    [1, 2, 3, 4].map((failures) => waitAfter_s(failures)),
    [300, 600, 1_200, 2_400],
  )
  test.equal(waitAfter_s(10), 86_400)
  test.equal(waitAfter_s(10_000), 86_400)
  test.equal(waitAfter_s(1, 3_600), 3_600)
  test.equal(waitAfter_s(5, 10), 4_800)
  const [day_s, hour_s] = [86_400, 3_600]
  test.equal(waitAfter_s(10, 0, 30 * day_s), day_s)
  test.equal(waitAfter_s(10, 0, 8 * hour_s), 4 * hour_s, 'half of the time to the end of the certificate')
  test.equal(waitAfter_s(10, 0, -2 * hour_s), hour_s, 'or since it')
  test.equal(waitAfter_s(10, 0, 60), 900)
  test.equal(waitAfter_s(1, 0, 60), 300)
  test.equal(waitAfter_s(10, day_s, 8 * hour_s), day_s, 'if the CA allows it')
  test.equal(waitAfter_s(1, 1e9), 8 * 86_400, 'a mistake of the CA does not last for ever')
})

t.test('directories are refused at addresses without a CA', async (test) => {
  for (const host of ['169.254.169.254', '[fe80::1]', '0.0.0.0', '[::]', '224.0.0.1', '[fd00:ec2::254]', '0x7f.1'])
    test.match(whyRefused(`https://${host}/dir`, false), 'which is not allowed for a CA', host)
  for (const host of ['127.0.0.1', '[::1]', 'localhost', '[::ffff:127.0.0.1]']) {
    test.match(whyRefused(`https://${host}/dir`, false), 'which is not allowed for a CA', host)
    test.equal(whyRefused(`https://${host}/dir`, true), undefined, host)
  }
  for (const host of ['ca.test', '192.0.2.1:14000', '10.0.0.1', '[2001:db8::1]'])
    test.equal(whyRefused(`https://${host}/dir`, false), undefined, host)
  test.equal(whyRefused('https://[1/dir', false), 'is not a URL')
})

t.test('a root is a certificate of a CA', async (test) => {
  const { pair } = certificateMaker(test)
  test.equal(whyNoRoot(pair({ name: 'root.test', isCa: true }).cert), undefined)
  test.equal(whyNoRoot(pair({ name: 'leaf.test' }).cert), 'is not a certificate of a CA')
  test.equal(whyNoRoot('nothing'), 'must be a certificate as PEM')
})

t.test('name servers are addresses, optionally with a port', async (test) => {
  for (const right of ['192.0.2.53', '192.0.2.53:5353', '2001:db8::53', '[2001:db8::53]', '[2001:db8::53]:65535'])
    test.ok(isNameServer(right), right)
  for (const wrong of [
    '',
    'ns1',
    'ns1:53',
    '192.0.2.53:0',
    '192.0.2.53:65536',
    '[192.0.2.53]:53',
    '192.0.2:53',
    '[::1',
  ])
    test.notOk(isNameServer(wrong), wrong)
})
