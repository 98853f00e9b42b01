import t, { type Test } from 'tap'
import { Compile } from 'typebox/compile'
import type { Endpoint } from '../../src/api/endpoint.ts'
import { readingOf, shapeOf } from '../../src/api/read-fields.ts'
import { endpoints } from '../../src/resources/index.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { applianceFixture, type Received } from '../fixtures/appliance.ts'
import { type Full, fullRecords } from './full-records.ts'

type Json = Readonly<Record<string, unknown>>
type Put = (body: Json) => Promise<Received>

/** Their body names an action, and is no part of a record. */
const ACTIONS: ReadonlySet<string> = new Set([
  'account.changePassword',
  'services.apply',
  'services.applyOnNode',
  'config.applyPlan',
  'updates.majorVersion',
  'lvmSnapshots.restore',
  // It sets the clock, which moves on: test/src/resources/date-time.test.ts.
  'dateTime.update',
  // They change a node of a cluster, and need one: test/system/cluster-moving.test.ts.
  'cluster.changeNode',
  'cluster.maintainNode',
  'floatingIps.move',
  // They continue with one of two nodes: test/system/cluster-pair.test.ts.
  'cluster.prefer',
  'cluster.takeOver',
  'cluster.resolve',
])

const propertiesOf = ({ body }: Endpoint): Readonly<Record<string, object>> =>
  Reflect.get(body ?? {}, 'properties') ?? {}
const changes = endpoints.filter(
  (endpoint) =>
    endpoint.method === 'PUT' && Object.keys(propertiesOf(endpoint)).length > 0 && !ACTIONS.has(endpoint.name),
)
const isReadOnly = (schema: object): boolean => Reflect.get(schema, 'readOnly') === true
const namesOf = (endpoint: Endpoint, wanted: (schema: object) => boolean): readonly string[] =>
  Object.entries(propertiesOf(endpoint)).flatMap(([name, schema]) => (wanted(schema) ? [name] : []))

/** The required fields, with the values that were read. */
const requiredOf = ({ body, needsOneOf }: Endpoint, read: Json): Json => {
  const names: readonly string[] = Reflect.get(body ?? {}, 'required') ?? []
  const oneOf = needsOneOf.flatMap((spellings) => spellings.filter((name) => name in read).slice(0, 1))
  return Object.fromEntries([...names, ...oneOf].map((name) => [name, read[name]]))
}

t.test('every PUT of a record has a read, and accepts each field of its answer', (test) => {
  for (const endpoint of changes) {
    const reading = readingOf(endpoint, endpoints)
    const taken = Object.keys(propertiesOf(endpoint))
    const missing = Object.keys(shapeOf(reading?.data).fields).filter((name) => !taken.includes(name))
    test.same([reading === undefined, missing], [false, []], endpoint.name)
  }
  test.end()
})

t.test('two spellings of one field with different values are refused by name', async (test) => {
  const { call, node } = await applianceFixture(test)
  const spelled = endpoints.filter(({ spellings }) => Object.keys(spellings).length > 0)
  test.ok(spelled.length > 3)
  for (const endpoint of spelled) {
    const { name, method, path, spellings, body, needsOneOf } = endpoint
    for (const [other, own] of Object.entries(spellings)) {
      const [one, another] =
        Reflect.get(propertiesOf(endpoint)[own] ?? {}, 'type') === 'array' ? [['a'], ['b']] : ['a', 'b']
      const required: readonly string[] = Reflect.get(body ?? {}, 'required') ?? []
      const needed = Object.fromEntries(required.map((field) => [field, field === 'email' ? 'a@b.test' : 'password-x']))
      const spelt = Object.fromEntries(needsOneOf.flatMap(([first]) => (first === undefined ? [] : [[first, 'a']])))
      const told = { ...needed, ...spelt, ...('disabled' in needed ? { disabled: false } : {}) }
      const sent = { ...told, [other]: one, [own]: another }
      const at = path.replace(/\{applianceI[dD]\}/, node).replace('{id}', 'x')
      const { json } = await call(method, at, { body: sent })
      const message = `conflicts with ${own}, which is the same field: send only one of them`
      test.match(json, { code: 'INVALID_BODY', errors: [{ field: other, message }] }, `${name} ${other}`)
    }
  }
})

t.test('every PUT of a record', async (test) => {
  const maker = certificateMaker(test)
  const { call, records } = await fullRecords(test, maker)
  test.same([...records.keys()].toSorted(), changes.map(({ name }) => name).toSorted(), 'each has a record here')
  for (const endpoint of changes) {
    const full = records.get(endpoint.name)
    if (full === undefined) continue
    await test.test(endpoint.name, async (its) => {
      const { path, moving = [] } = full
      const read = async () => still(await full.read(), moving)
      const put = (body: Json) => call('PUT', path, { body })
      const before = await read()
      const required = requiredOf(endpoint, before)

      for (const [name, value] of Object.entries(endpoint.whenNull)) {
        if (name in before) its.strictNotSame(before[name], value, `${name} is not what it is without being chosen`)
      }
      for (const [name, value] of Object.entries(endpoint.whenNull)) {
        its.ok(endpoint.body && Compile(endpoint.body).Check({ ...required, [name]: value }), `${name} could be sent`)
      }

      const least = await put(required)
      its.equal(least.status, 200, least.text)
      its.same(await read(), before, 'a request with only the required fields changes nothing else')

      const stale = await call('PUT', path, { body: required, headers: { 'if-match': '"999"' } })
      its.match(stale.json, { code: 'REVISION_MISMATCH' }, 'If-Match is compared')

      const back = await put(await full.read())
      its.equal(back.status, 200, back.text)
      its.same(await read(), before, 'sending back what was read changes nothing')

      for (const name of namesOf(endpoint, isReadOnly).filter((one) => !moving.includes(one))) {
        const refused = await put({ ...required, [name]: 'another' })
        its.match(refused.json, { code: 'READ_ONLY', errors: [{ field: name, code: 'READ_ONLY' }] }, name)
      }
      its.same(await read(), before)

      await nulls(endpoint, full, its, put)
    })
  }
})

/** The record without the fields that change on their own. */
const still = (record: Json, moving: readonly string[]): Json =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !moving.includes(name)))

/** Each field alone: null clears it, or it cannot be cleared. */
async function nulls(endpoint: Endpoint, full: Full, test: Test, put: Put): Promise<void> {
  const { held = [], elsewhere = [], moving = [] } = full
  const read = async () => still(await full.read(), moving)
  const before = await read()
  const required = requiredOf(endpoint, before)
  for (const name of namesOf(endpoint, (schema) => !isReadOnly(schema)).filter((one) => !elsewhere.includes(one))) {
    const answer = await put({ ...required, [name]: null })
    if (held.includes(name)) {
      test.match(answer.json, { status: 'error', errors: [{ message: /^(?!must be)/ }] }, `${name} is kept by a rule`)
    } else if (name in endpoint.whenNull) {
      test.equal(answer.status, 200, `${name}: ${answer.text}`)
      if (name in before) test.same((await read())[name], endpoint.whenNull[name], `${name} is as if never set`)
    } else {
      const isTaken = endpoint.body !== undefined && Compile(endpoint.body).Check({ ...required, [name]: null })
      test.equal(answer.status, isTaken ? 200 : 422, `${name}: ${answer.text}`)
    }
    const again = await put(before)
    test.equal(again.status, 200, again.text)
    test.same(await read(), before, `${name} is unchanged`)
  }
}
