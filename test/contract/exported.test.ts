import t from 'tap'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { ownAppliance } from '../fixtures/shared-appliance.ts'
import { fullRecords } from './full-records.ts'

type Json = Readonly<Record<string, unknown>>

t.test(
  'a document with every field of every kind: nothing is left to do, and elsewhere it makes the same',
  async (test) => {
    const maker = certificateMaker(test)
    const { call, node } = await fullRecords(test, maker)
    const ok = async (asked: typeof call, ...[method, path, sent]: Parameters<typeof call>) => {
      const { status, json, text } = await asked(method, path, sent)
      test.equal(status, 200, text)
      return json.data
    }
    // A rule keeps the group's links of connections away from its floating IP, which is a record here as well.
    const [group] = await ok(call, 'GET', '/ipgroups')
    await ok(call, 'PUT', `/ipgroups/${group.id}`, { body: { ...group, connectionSync: false } })
    await ok(call, 'PUT', '/services/apply')
    const exported = await ok(call, 'GET', '/config/document')
    test.same((await ok(call, 'POST', '/config/plan', { body: { document: exported } })).changes, [])

    const other = await ownAppliance(test)
    const { certificates, ...rest } = JSON.parse(JSON.stringify(exported).replaceAll(node, other.appliance.nodeId))
    // An export has no private keys.
    const { cert, key } = maker.pair({ name: 'www.test' })
    const document = { ...rest, certificates: { www: { ...certificates.www, pem: `${cert}${key}` } } }
    const { planId, changes } = await ok(other.call, 'POST', '/config/plan', { body: { document } })
    test.same(new Set(changes.map(({ op }: Json) => op)), new Set(['create']))
    await ok(other.call, 'PUT', `/config/plans/${planId}/apply`)
    const { certificates: made, ...others } = await ok(other.call, 'GET', '/config/document')
    test.same(others, rest)
    test.same(made, { www: { ...certificates.www, pem: cert } })
  },
)
