import type { TSchema } from 'typebox'
import t from 'tap'
import type { Endpoint } from '../../src/api/endpoint.ts'
import { referredBy } from '../../src/model/fields.ts'
import { SECTION_NAMES, SECTIONS, type SectionName } from '../../src/model/sections.ts'
import { endpoints } from '../../src/resources/index.ts'
import type { Caller } from '../fixtures/appliance.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { EVERYTHING } from '../fixtures/backup.ts'
import { fullRecords } from './full-records.ts'

type Json = Readonly<Record<string, unknown>>

const part = (schema: TSchema, name: string): TSchema | undefined => Reflect.get(schema, name) as TSchema | undefined
const formsOf = (schema: TSchema): readonly TSchema[] => Reflect.get(schema, 'anyOf') ?? [schema]
const itemsOf = (schema: TSchema): TSchema | undefined => part(schema, 'items')
const fieldOf = (schema: TSchema, name: string): TSchema | undefined => part(part(schema, 'properties') ?? {}, name)

/** Returns the mark in the schema of the field at the path of a reference. */
function markAt(schema: TSchema, [name, ...rest]: readonly string[]): readonly string[] | undefined {
  const forms = formsOf(schema)
  if (name === undefined) return forms.map((form) => referredBy(form)).find((mark) => mark !== undefined)
  const next = forms.map((form) => (/^\d+$/.test(name) ? itemsOf(form) : fieldOf(form, name)))
  return next.map((found) => found && markAt(found, rest)).find((mark) => mark !== undefined)
}

/** Records with a reference in every field that may hold one. */
const REFERRING: Partial<Record<SectionName, object>> = {
  users: { groups: ['g'], roles: ['r'] },
  l7Frontends: {
    defaultBackendId: 'b',
    cipherListId: 'c',
    certificates: ['c'],
    rules: [{ do: { type: 'backend', backendId: 'b' } }],
  },
  l7Backends: { reals: [{ ripId: 'r' }], healthCheck: { type: 'script', id: 'own' } },
  l4Backends: { reals: [{ ripId: 'r' }], healthCheck: { type: 'script', id: 'own' } },
  l7Raw: { frontends: [{ id: 'f', lines: [] }], backends: [{ id: 'b', lines: [] }] },
  syslogServers: { certificateId: 'c' },
  alertTargets: { certificateId: 'c' },
  acmeOrders: { accountId: 'a', certificateId: 'c', dns: { scriptId: 's' } },
  userInterfaces: { ipId: 'i', SSLCertificate: 'c' },
  samlConfigs: { breakGlassUserId: 'u' },
  oidcConfigs: { breakGlassUserId: 'u', groupMappings: [{ group: 'g', roles: ['r'] }] },
}

t.test('every reference of a record is marked in its schema, and every mark is a reference', async (test) => {
  const marked = new Set<string>()
  const referring = new Set<string>()
  const collect = (section: string, schema: TSchema, path = ''): void => {
    for (const form of formsOf(schema)) {
      const sections = referredBy(form) ?? []
      if (sections.length > 0) marked.add(`${section}${path}`)
      for (const name of sections)
        test.ok(
          SECTION_NAMES.some((known) => known === name),
          name,
        )
      const items = itemsOf(form)
      if (items !== undefined) collect(section, items, `${path}.0`)
      for (const [name, field] of Object.entries(part(form, 'properties') ?? {}))
        collect(section, field, `${path}.${name}`)
    }
  }
  for (const section of SECTION_NAMES) {
    const { schema, references } = SECTIONS[section]
    collect(section, schema)
    // The keys of SNMP users belong to an engine, which is never named.
    if (section === 'snmpUsers') continue
    const record = { ...EVERYTHING[section][0], ...REFERRING[section] }
    for (const { field, section: to, orSection } of (references as (one: unknown) => ReturnType<typeof references>)(
      record,
    )) {
      const sections = orSection === undefined ? [to] : [to, orSection]
      test.same(markAt(schema, field.split('.')), sections, `${section} ${field}`)
      referring.add(`${section}.${field.replaceAll(/\.\d+/g, '.0')}`)
    }
  }
  // Rules of backends are about responses, and route nothing; groups of RADIUS users come from their server.
  const silent = ['l7Backends.rules.0.do.backendId', 'radiusUsers.groups.0']
  test.same([...marked].toSorted(), [...referring, ...silent].toSorted())
})

/** Returns whether the body accepts names. */
const takesNames = ({ body }: Endpoint): boolean => JSON.stringify(body ?? {}).includes('"x-refers-to"')

/** Returns the value with a name for every id. */
function named(schema: TSchema, value: unknown, nameOf: (id: string) => string): unknown {
  const forms = formsOf(schema)
  if (typeof value === 'string')
    return value !== '' && forms.some((form) => referredBy(form) !== undefined) ? { name: nameOf(value) } : value
  return forms.reduce((result: unknown, form) => {
    const items = itemsOf(form)
    if (Array.isArray(result)) return items === undefined ? result : result.map((item) => named(items, item, nameOf))
    if (typeof result !== 'object' || result === null) return result
    const entries = Object.entries(result).map(([name, field]) => {
      const property = fieldOf(form, name)
      return [name, property === undefined ? field : named(property, field, nameOf)]
    })
    return Object.fromEntries(entries)
  }, value)
}

const LISTS = [
  '/localUsers/users',
  '/rbac/groups',
  '/rbac/roles',
  '/ipvsDirector/rips',
  '/healthchecks',
  '/ipvsDirector/backends',
  '/layer7proxy/backends',
  '/layer7proxy/frontends',
  '/certificates/certs',
  '/ciphers/lists',
  '/ipgroups',
  '/alerts/targets',
  '/{applianceId}/sips',
]

async function namesById(call: Caller, node: string): Promise<(id: string) => string> {
  const names = new Map<string, string>()
  for (const path of LISTS) {
    const { data } = (await call('GET', path.replace('{applianceId}', node))).json
    const records: readonly Json[] = Array.isArray(data) ? data : data.ciphersLists
    for (const { id, name, label, email, ip } of records)
      names.set(String(id), String(path.endsWith('/sips') ? ip : (name ?? label ?? email)))
  }
  return (id) => names.get(id) ?? `the name of ${id}`
}

t.test('every change accepts names for ids, and the stored record is the same', async (test) => {
  const { call, records, node } = await fullRecords(test, certificateMaker(test))
  const nameOf = await namesById(call, node)
  const changes = endpoints.filter((endpoint) => endpoint.method === 'PUT' && takesNames(endpoint))
  test.ok(changes.length >= 12, `${changes.length} changes`)
  for (const { name, body, needsOneOf } of changes) {
    const { path, read } = records.get(name) ?? { path: '', read: async (): Promise<Json> => ({}) }
    const before = await read()
    const required: readonly string[] = Reflect.get(body ?? {}, 'required') ?? []
    const fields = Object.entries(before).filter(
      ([field]) =>
        required.includes(field) || needsOneOf.flat().includes(field) || body === undefined || isReferring(body, field),
    )
    const sent = Object.fromEntries(fields)
    const byName = Object(named(body ?? {}, sent, nameOf))
    test.notSame(byName, sent, `${name} names something`)
    const answer = await call('PUT', path, { body: byName })
    test.ok(answer.status < 300, `${name}: ${answer.text}`)
    test.same(await read(), before, name)
  }
})

function isReferring(body: TSchema, field: string): boolean {
  const schema = fieldOf(body, field)
  return schema !== undefined && JSON.stringify(schema).includes('"x-refers-to"')
}

t.test('the document shows both forms', async (test) => {
  const create = endpoints.find(({ name }) => name === 'l4Frontends.create')
  test.match(JSON.parse(JSON.stringify(create?.body)).properties.backendId, {
    anyOf: [
      { type: 'string', 'x-refers-to': ['l4Backends'] },
      { type: 'object', required: ['name'], additionalProperties: false },
    ],
    description: 'Layer 4 backend that receives the traffic.',
  })
})
