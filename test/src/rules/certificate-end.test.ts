import t from 'tap'
import { endOf } from '../../../src/rules/certificate-end.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'

const DAY_MS = 86_400_000

t.test('an issuer that expires before the certificate counts, and a root does not', async (test) => {
  const { pair, record } = certificateMaker(test)
  const root = pair({ name: 'Root', isCa: true, days: 2 })
  const issuer = pair({ name: 'Issuer', isCa: true, issuer: root, days: 5 })
  const leaf = pair({ name: 'leaf.test', issuer, days: 300 })
  const inDays = (...others: readonly (typeof root)[]) =>
    Math.round((endOf(record('c', leaf, ...others)).getTime() - Date.now()) / DAY_MS)
  test.equal(inDays(), 300)
  test.equal(inDays(issuer), 5)
  test.equal(inDays(issuer, root), 5)
  const damaged = record('d', leaf, issuer)
  const chain = damaged.chain.replaceAll(/(?<=CERTIFICATE-----\n)\w{8}/g, 'AAAAAAAA')
  test.equal(endOf({ ...damaged, chain }).toISOString(), damaged.facts.validTo, 'an unreadable one has no expiry')
})
