import t from 'tap'
import type { L7Frontend } from '../../../src/model/layer7.ts'
import { clientAuthorities } from '../../../src/warnings/client-authorities.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'
import { frontend } from '../../fixtures/config.ts'

const DAY_MS = 86_400_000

function told(pems: readonly { readonly cert: string }[], days = 0, more: Partial<L7Frontend> = {}) {
  const clientCa = pems.map(({ cert }) => cert).join('')
  const asking = frontend('f', 'b', { ports: '443', certificates: ['c'], clientCa, clientVerify: 'required', ...more })
  return clientAuthorities(asking, Date.now() + days * DAY_MS).map(({ code, message }) => `${code} ${message}`)
}

t.test('CLIENT_CA_INCOMPLETE: HAProxy verifies clients up to a root', async (test) => {
  const { pair } = certificateMaker(test)
  const root = pair({ name: 'Root', isCa: true, days: 300 })
  const upper = pair({ name: 'Upper', isCa: true, days: 300, issuer: root })
  const lower = pair({ name: 'Lower', isCa: true, days: 300, issuer: upper })
  const alone = told([lower])
  test.equal(alone.length, 1)
  test.match(alone[0], /^CLIENT_CA_INCOMPLETE The Layer 7 frontend f \(f\) .* CN=Lower .* CN=Upper/)
  test.match(told([lower, upper]), [/CN=Upper .* CN=Root/])
  test.match(told([pair({ name: 'Other', isCa: true, days: 300 }), lower]), [/CN=Lower/])
  test.same(told([lower, root, upper]), [])
  test.same(told([lower], 0, { enabled: false }), [])
  test.same(told([lower], 0, { clientVerify: 'none' }), [])
  const again = pair({ name: 'Root', isCa: true, days: 300 })
  test.match(told([upper, again]), [/CN=Upper .* CN=Root/], 'a root of the same name has not issued it')
})

t.test('CERTIFICATE_EXPIRES: with an authority, all of its clients are refused', async (test) => {
  const { pair } = certificateMaker(test)
  const root = pair({ name: 'Root', isCa: true, days: 60 })
  test.same(told([root]), [])
  test.match(told([root], 40), [/^CERTIFICATE_EXPIRES .* CN=Root .* expires at \d{4}-/])
  test.match(told([root], 61), [/^CERTIFICATE_EXPIRES .* CN=Root .* has expired at \d{4}-/])
  const renewed = pair({ name: 'Root', isCa: true, days: 900, own: root })
  test.same(told([root, renewed], 61), [], 'it was renewed with its key')
  test.equal(told([root, pair({ name: 'Root', isCa: true, days: 900 })], 61).length, 1, 'another key')
})
