import t from 'tap'
import { endpoints } from '../../src/resources/index.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { fullRecords } from './full-records.ts'

/** They create no record of the configuration. */
const OTHERS: ReadonlySet<string> = new Set(['account.createToken', 'alertSilences.create', 'transactions.begin'])
const creations = endpoints.filter(
  ({ method, status, name }) => method === 'POST' && status === 201 && !OTHERS.has(name),
)

/** Other records, created meanwhile, appear in these fields. */
const GROWING: ReadonlySet<string> = new Set(['users', 'roles', 'usage'])

t.test('every creation returns the record, with its id, to a caller who asks for it', async (test) => {
  const { call, returned, node } = await fullRecords(test, certificateMaker(test))
  test.same([...returned.keys()].toSorted(), creations.map(({ path }) => path).toSorted())
  for (const { path, name } of creations) {
    const record = Object(returned.get(path))
    const { data } = (await call('GET', path.replace('{applianceId}', node))).json
    const list: readonly Record<string, unknown>[] = Array.isArray(data) ? data : data.ciphersLists
    const listed = list.find(({ id }) => id === record.id)
    test.ok(listed, `${name} returns the id`)
    for (const [field, value] of Object.entries(listed ?? {}))
      if (!GROWING.has(field)) test.same(record[field], value, `${name} ${field}`)
    test.notMatch(JSON.stringify(record), /PRIVATE KEY|argon2|passphrase/, name)
  }
  test.ok(creations.length > 14)
})

t.test('without the query parameter only the id is returned, and its other values are refused', async (test) => {
  const { call } = await fullRecords(test, certificateMaker(test))
  const body = { name: 'another', ip: '192.0.2.99', port: 80 }
  const refused = await call('POST', '/ipvsDirector/rips?return=all', { body })
  test.match(refused.json, { code: 'INVALID_QUERY', errors: [{ field: 'return', code: 'NOT_ALLOWED' }] })
  const { json, text } = await call('POST', '/ipvsDirector/rips', { body })
  test.equal(text, JSON.stringify({ status: 'success', message: 'Real server stored', data: { id: json.data.id } }))
})
