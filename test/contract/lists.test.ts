import { join } from 'node:path'
import t from 'tap'
import { LmdbConfigStore } from '../../storage/config/lmdb-config-store.ts'
import { Editing } from '../../src/config/editing.ts'
import { SECTION_NAMES, SECTIONS } from '../../src/model/sections.ts'
import { endpoints } from '../../src/resources/index.ts'
import { EVERYTHING } from '../fixtures/backup.ts'
import { ownAppliance } from '../fixtures/shared-appliance.ts'

const lists = endpoints.filter(({ list }) => list !== undefined)
const COPIES = 6

const CERTIFICATE = {
  id: 'cert',
  name: 'cert',
  chain: 'PEM',
  privateKey: 'PEM',
  facts: {
    commonName: 'www.example.test',
    organisation: '',
    country: '',
    subjectAlt: ['www.example.test', 'example.test'],
    validFrom: '2026-01-01T00:00:00Z',
    validTo: '2027-01-01T00:00:00Z',
    fingerprint: 'AA',
    keyType: 'rsa 2048',
  },
}
const ORDER = {
  id: 'order',
  name: 'order',
  accountId: 'acme-1-0',
  names: ['www.example.test'],
  challenge: 'http-01',
  keyType: 'ec256',
  certificateId: 'cert-0',
}

/** Stores several records of every section, each of this node. */
async function fill(state: string, nodeId: string): Promise<void> {
  const store = new LmdbConfigStore(join(state, 'config'))
  const everything = { ...EVERYTHING, certificates: [CERTIFICATE], acmeOrders: [ORDER] }
  const writes = SECTION_NAMES.flatMap((section) => {
    const { nameField } = SECTIONS[section]
    const [first] = everything[section]
    if (first === undefined || nameField === 'id' || nameField === 'nodeId') return []
    const nodes = 'nodeId' in first ? { nodeId } : {}
    return Array.from({ length: COPIES }, (_, at) => {
      const value = { ...first, ...nodes, id: `${first.id}-${at}`, [nameField]: nameOf(nameField, at) }
      return { section, scope: '', key: value.id, value }
    })
  })
  const origin = { actor: 'tester', endpoint: 'test', at: '2026-01-02T03:04:05.000Z' }
  await new Editing(store).edit(origin, undefined, (draft) => draft.rewrite(writes, async () => undefined))
  await store.close()
}

function nameOf(field: string, at: number): string {
  if (field === 'ip') return `192.0.2.${20 + at}`
  if (field === 'username') return `name-${at}`
  return field === 'email' ? `Somebody${at}@example.test` : `Name ${at}`
}

let filled: ReturnType<typeof ownAppliance> | undefined
/** The stored records are pending: the tests only read. */
const borrow = async () => await (filled ??= full())

async function full() {
  const made = await ownAppliance(t, { prepare: fill })
  for (let at = 0; at < COPIES; at++) {
    await made.call('POST', '/localUsers/me/tokens', { body: { name: `Name ${at}` } })
    const silence = { objectName: `Name ${at}`, reason: 'a test', for: 600 }
    await made.call('POST', '/alerts/silences', { body: silence })
  }
  return made
}

interface Found {
  readonly records: readonly Readonly<Record<string, unknown>>[]
  readonly next: string | undefined
}

async function fixture() {
  const { call, node } = await borrow()
  const pathOf = (path: string) => path.replace('{applianceId}', node).replace('{service}', 'layer-7')
  const get = (path: string, query: string) => call('GET', `${pathOf(path)}${query}`)
  const found = async (path: string, query: string): Promise<Found> => {
    const { json } = await get(path, query)
    const records = Array.isArray(json.data) ? json.data : Object.values(json.data)[0]
    return { records, next: json.next }
  }
  return { call, get, found }
}

t.test('every list of records names its searched fields', async (test) => {
  const others = endpoints.filter(
    ({ name, method, list }) => method === 'GET' && /\.list(Of.*)?$/.test(name) && list === undefined,
  )
  test.same(others.map(({ name }) => name).toSorted(), [
    'alerts.list',
    'audit.list',
    'backups.list',
    'ciphers.list',
    'jobs.list',
    'revisions.list',
    'transactions.list',
  ])
})

/** Sessions and interfaces are not made here. */
const LEAST: Readonly<Record<string, number>> = { 'account.sessions': 1, 'sessions.list': 1, 'interfaces.list': 2 }
/** A service is identified by its name. */
const idOf = (record: Readonly<Record<string, unknown>>) => record['id'] ?? record['name']

for (const { name, path, list } of lists) {
  t.test(`${name}: pages together are the list, and each record is found`, async (test) => {
    const { found, get } = await fixture()
    const { records } = await found(path, '')
    test.ok(records.length >= (LEAST[name] ?? COPIES), `${name}: ${records.length}`)
    for (const limit of [1, 2, 1_000]) {
      const pages: unknown[] = []
      for (let query = `?limit=${limit}`; query !== '';) {
        const page = await found(path, query)
        test.ok(page.records.length <= limit)
        pages.push(...page.records)
        query = page.next === undefined ? '' : `?limit=${limit}&after=${page.next}`
      }
      test.same(pages, records)
    }
    for (const record of records.slice(-3)) {
      const id = encodeURIComponent(String(idOf(record)).toUpperCase())
      test.ok((await found(path, `?q=${id}`)).records.some((one) => idOf(one) === idOf(record)))
      const named = String(record[list?.searched[0] ?? ''])
      const ofName = (await found(path, `?name=${encodeURIComponent(named.toUpperCase())}`)).records
      test.ok(ofName.some((one) => idOf(one) === idOf(record)))
    }
    const [wrong, long] = [await get(path, '?limit=0&q=&name=&after=%21'), await get(path, '?limit=1001')]
    test.match([wrong.status, wrong.json.code], [422, 'INVALID_QUERY'])
    test.same(wrong.json.errors.map(({ field }: { field: string }) => field).toSorted(), ['limit', 'name', 'q'])
    test.match(long.json, { code: 'INVALID_QUERY', errors: [{ field: 'limit', code: 'OUT_OF_RANGE' }] })
    test.match((await get(path, '?after=%21')).json.errors, [{ field: 'after', code: 'FORMAT' }])
  })
}

t.test('in a transaction a list has the same order, so its pages are those of the result', async (test) => {
  const { call } = await borrow()
  const { id } = (await call('POST', '/transactions')).json.data
  const headers = { 'x-transaction-id': String(id) }
  for (const group of ['zz', 'aa']) await call('POST', '/rbac/groups', { headers, body: { id: group, name: group } })
  const first = (await call('GET', '/rbac/groups?limit=1', { headers })).json
  test.match(first, { data: [{ id: 'aa' }], next: String })
  const rest = (await call('GET', `/rbac/groups?after=${first.next}`, { headers })).json.data
  test.equal(rest.at(-1).id, 'zz')
  const all = (await call('GET', '/rbac/groups', { headers })).json.data
  test.same([...first.data, ...rest], all)
})
