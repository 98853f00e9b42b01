import t from 'tap'
import type { Certificate } from '../../../src/model/certificates.ts'
import type { Condition, Rule } from '../../../src/model/l7-rules.ts'
import type { L7Frontend } from '../../../src/model/layer7.ts'
import { unreachedCertificates } from '../../../src/warnings/shown-certificates.ts'
import { frontend } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

/** Only the fields that are used. */
const certificate = (id: string, subjectAlt: string[], keyType = 'rsa 2048'): Certificate => ({
  id,
  name: id,
  chain: '',
  privateKey: '',
  facts: {
    commonName: 'named.test',
    organisation: '',
    country: '',
    subjectAlt,
    validFrom: '',
    validTo: '',
    fingerprint: id,
    keyType,
  },
})

function told(certificates: readonly Certificate[], more: Partial<L7Frontend> = {}) {
  const view = viewOf({ certificates: [...certificates] })
  const shown = frontend('f', 'b', { certificates: certificates.map(({ id }) => id), ports: '443', ...more })
  return unreachedCertificates(shown, view).map(({ code, message }) => `${code} ${message}`)
}

t.test('CERTIFICATE_UNREACHED: another one takes precedence for all of its names', async (test) => {
  const [both, one] = [certificate('both', ['a.test', 'b.test']), certificate('one', ['A.test'])]
  test.match(told([both, one]), [
    /^CERTIFICATE_UNREACHED The Layer 7 frontend f \(f\) never uses the certificate one \(one\): .* both \(both\)/,
  ])
  test.same(told([one, both]), [], 'the second one has more names')
  test.same(told([both, one], { enabled: false }), [])
  test.same(told([both, certificate('ec', ['a.test'], 'ec prime256v1')]), [], 'clients choose by the kind of key')
  test.same(told([certificate('wild', ['*.test']), one]), [], 'the exact name takes precedence')
  test.match(told([certificate('x', []), certificate('y', ['named.test'])]), [/certificate y/], 'by its common name')
})

t.test('CERTIFICATE_UNREACHED: no rule matches its names', async (test) => {
  const names = [certificate('a', ['a.test']), certificate('b', ['b.test', '*.x.test'])]
  const rule = (...when: Condition[]): Rule => ({
    ...(when.length > 0 && { when: { all: when } }),
    do: { type: 'backend', backendId: 'b' },
  })
  const host = (match: Condition['match'], ...values: string[]): Condition => ({
    type: 'host',
    ...(match && { match }),
    values,
  })
  const of = (...rules: Rule[]) => told(names, { defaultBackendId: null, rules })
  test.match(of(rule(host('is', 'a.test'))), [
    /never uses the certificate b \(b\): no rule accepts requests for b.test and 1 more/,
  ])
  test.match(of(rule(host('is', 'c.test'))), [/certificate a/, /certificate b/])
  const reaching: readonly Rule[] = [
    rule(host('is', 'B.test')),
    rule(host('is', 'q.x.test')),
    rule(host('ends', '.x.test')),
    rule(host('ends', 'test')),
    rule(host('ends', '.q.x.test')),
    rule(host('regex', '^z')),
    rule({ ...host('is', 'c.test'), negate: true }),
    rule({ type: 'path', values: ['/'] }),
    rule(),
    { ...rule(), when: { any: [host('is', 'c.test'), { type: 'path', values: ['/'] }] } },
    { do: { type: 'deny' } },
  ]
  for (const one of reaching) test.same(of(rule(host('is', 'a.test')), one), [], JSON.stringify(one))
  const limit: Rule = { do: { type: 'limit', per: 'source', rate: 1 } }
  test.match(of(rule(host('is', 'a.test')), limit), [/certificate b/], 'a limit takes no requests')
  test.same(told(names, { rules: [rule(host('is', 'a.test'))] }), [], 'the default backend takes the rest')
  test.same(told(names, { defaultBackendId: null }), [], 'without rules and backend nothing is served at all')
})
