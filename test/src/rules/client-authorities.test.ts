import t from 'tap'
import { clientAuthoritiesOf, nameOf, neededAuthoritiesOf } from '../../../src/rules/client-authorities.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'
import { frontend } from '../../fixtures/config.ts'

t.test('of each authority, the certificate that ends last is needed', (test) => {
  const { pair } = certificateMaker(test)
  const root = pair({ name: 'Root', isCa: true, days: 60 })
  const renewed = pair({ name: 'Root', isCa: true, days: 900, own: root })
  const namesake = pair({ name: 'Root', isCa: true, days: 300 })
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
  const clientCa = [root.cert, broken, renewed.cert, namesake.cert].join('')
  const verifies = frontend('f', null, { clientCa, clientVerify: 'optional' })
  test.same(
    clientAuthoritiesOf(verifies).map(({ subject }) => nameOf(subject)),
    ['CN=Root', 'CN=Root', 'CN=Root'],
  )
  const needed = neededAuthoritiesOf(verifies).map(({ validFrom, validTo }) =>
    Math.round((Date.parse(validTo) - Date.parse(validFrom)) / 86_400_000),
  )
  test.same(needed, [900, 300], 'a renewed one, and one with another key')
  test.same(clientAuthoritiesOf({ ...verifies, enabled: false }), [])
  test.same(clientAuthoritiesOf({ ...verifies, clientVerify: 'none' }), [])
  test.end()
})

t.test('an authority without a common name is known by all of its names', (test) => {
  test.equal(nameOf('O=Site\nCN=Clients'), 'CN=Clients')
  test.equal(nameOf('C=DE\nO=Site'), 'C=DE, O=Site')
  test.end()
})
