import t from 'tap'
import { applianceFixture } from '../../fixtures/appliance.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'
import { until } from '../../fixtures/until.ts'

t.test('certificates that expire, and an apply that waits', async (test) => {
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
    { severity: 'warning', name: 'shop', message: /expires in 4 days/, resource: 'certificates' },
  ])
  test.equal(of('certificate').length, 1)
  test.match(of('apply'), [{ severity: 'critical', message: /reverted in \d+ s/ }])
  test.equal(attention[0].severity, 'critical', 'the most urgent first')
})

t.test('what was just staged or applied is noted at once', async (test) => {
  const { call } = await applianceFixture(test)
  const noted = async () =>
    (await call('GET', '/overview')).json.data.attention
      .map(({ kind }: { readonly kind: string }) => kind)
      .filter((kind: string) => kind === 'apply' || kind === 'pending')
  test.same(await noted(), [])
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web', ip: '192.0.2.9', port: 80 } })
  test.same(await noted(), ['pending'])
  await call('PUT', '/services/apply', { body: { confirmWithin: 60 } })
  test.same(await noted(), ['apply'])
  await call('PUT', '/services/apply/confirm')
  test.same(await noted(), [])
})

t.test('an unknown state of Layer 4 is critical, but not in trial', async (test) => {
  for (const profile of ['appliance', 'trial'] as const) {
    const { appliance, call } = await applianceFixture(test, { profile })
    await appliance.run()
    const create = async (path: string, body: object) =>
      (await call('POST', `/ipvsDirector/${path}`, { body })).json.data
    const { id: ripId } = await create('rips', { name: 'web', ip: '192.0.2.9', port: 80 })
    const { id: backendId } = await create('backends', { name: 'shop', reals: [{ ripId }] })
    await create('frontends', {
      name: 'shop',
      ip: '127.0.0.1',
      ports: '80',
      protocol: 'tcp',
      forwarding: 'masq',
      backendId,
    })
    test.equal((await call('PUT', '/services/apply')).status, 200)
    const overview = async () => (await call('GET', '/overview')).json.data
    const isRead = async () => /not been read since/.test((await overview()).layer4.problem)
    await until('a look at the table', isRead)
    const { attention } = await overview()
    const found = attention.filter(({ kind }: { kind: string }) => kind === 'layer4')
    test.match(found, profile === 'trial' ? [] : [{ severity: 'critical', message: /table cannot be read/ }])
    test.equal(found.length, profile === 'trial' ? 0 : 1)
  }
})
