import t from 'tap'
import { applianceFixture } from '../../fixtures/appliance.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'

t.test('certificates that end, and an apply that waits', async (test) => {
  const { call } = await applianceFixture(test)
  const { cert, key } = certificateMaker(test).pair({ name: 'shop.test', days: 5 })
  const later = certificateMaker(test).pair({ name: 'later.test', days: 90 })
  for (const [name, pem] of [
    ['shop', cert + key],
    ['later', later.cert + later.key],
  ])
    test.equal((await call('POST', '/certificates/certs', { body: { name, pem } })).status, 201)
  test.equal((await call('PUT', '/services/apply', { body: { confirmWithin: 60 } })).status, 200)
  const { attention } = (await call('GET', '/overview')).json.data
  const of = (kind: string) => attention.filter((one: { kind: string }) => one.kind === kind)
  test.match(of('certificate'), [
    { severity: 'warning', name: 'shop', message: /ends in 4 days/, resource: 'certificates' },
  ])
  test.equal(of('certificate').length, 1)
  test.match(of('apply'), [{ severity: 'critical', message: /taken back in \d+ s/ }])
  test.equal(attention[0].severity, 'critical', 'the most urgent first')
})
