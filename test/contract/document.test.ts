import { Ajv2020 } from 'ajv/dist/2020.js'
import { Compile } from 'typebox/compile'
import t from 'tap'
import { plain } from '../../src/api/openapi-responses.ts'
import { documentedPath } from '../../src/api/documented-path.ts'
import { Router } from '../../src/http/router.ts'
import { Ip } from '../../src/model/fields.ts'
import { endpoints } from '../../src/resources/index.ts'
import { FORMATS } from '../fixtures/described.ts'
import { documentOf } from '../fixtures/openapi-document.ts'
import type { Json } from '../fixtures/read-document.ts'

const read = documentOf(endpoints)
const document: Json = read.json
const served = endpoints.filter(({ permissionOnly }) => !permissionOnly)

/** Yields every schema of the document, with its place. Examples and defaults are values, no schemas. */
function* schemasIn(node: Json, place: string): Generator<readonly [string, Json]> {
  if (typeof node !== 'object' || node === null) return
  if (!Array.isArray(node)) yield [place, node]
  for (const [key, value] of Object.entries<Json>(node)) {
    if (key === 'example' || key === 'default' || key === 'enum' || key === 'const') continue
    const fields = key === 'properties' && typeof value === 'object' ? Object.entries<Json>(value) : undefined
    if (fields === undefined) yield* schemasIn(value, `${place}/${key}`)
    else for (const [name, field] of fields) yield* schemasIn(field, `${place}/${name}`)
  }
}
const schemas = [...schemasIn(document.paths, ''), ...schemasIn(document.components, '')]

t.test('every operation adds one to three sentences to its summary', async (test) => {
  for (const endpoint of served) {
    const { description, summary } = read.operation(endpoint)
    const sentences = String(description).split(/(?<=\.)\s/)
    test.ok(sentences.length >= 1 && sentences.length <= 3, `${endpoint.name}: ${description}`)
    for (const sentence of sentences) test.match(sentence, /^[A-Z?][^\n]+\.$/, `${endpoint.name}: ${sentence}`)
    test.notOk(String(description).includes(summary), endpoint.name)
  }
})

t.test('refusals of a single operation are in its description, those of all operations are not', async (test) => {
  const of = (name: string): string => read.operation(served.find((one) => one.name === name) as never).description
  test.match(of('power.halt'), /with `JOB_IN_PROGRESS`, `NOT_SUPPORTED` and `IN_USE`|`IN_USE`/)
  test.match(of('roles.delete'), /staged.*`IN_USE`/)
  test.match(of('certificates.get'), /no read-only role/)
  test.match(of('auth.ping'), /^Needs no login, and changes nothing\.$/)
  for (const { name } of served) test.notMatch(of(name), /INVALID_BODY|INTERNAL|UNAUTHENTICATED/, name)
})

t.test('every enumeration and constant has a type', async (test) => {
  const untyped = schemas.filter(([, schema]) => ('enum' in schema || 'const' in schema) && schema.type === undefined)
  test.same(
    untyped.map(([place]) => place),
    [],
  )
})

t.test('every default fits its own schema', async (test) => {
  const ajv = new Ajv2020({ strict: false, validateSchema: false, formats: FORMATS })
  ajv.addSchema(document, 'document')
  const strange = (schema: Json): Json => JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/'))
  const withDefault = schemas.filter(([, schema]) => 'default' in schema)
  test.ok(withDefault.length > 80)
  for (const [place, { default: value, ...schema }] of withDefault) {
    test.ok(ajv.validate(strange(schema), value), `${place} ${JSON.stringify(value)}: ${ajv.errorsText()}`)
  }
})

t.test('times and addresses name their format; only known formats are used', async (test) => {
  const isFormatted = ({ format, anyOf }: Json) =>
    format !== undefined || anyOf?.some((form: Json) => form.format !== undefined)
  // For input, the daemon accepts some texts of these forms, and others besides.
  const LAXER = /its offset is ignored|YYYY-MM-DD|31 days ahead/
  const texts = schemas.filter(([, { type, anyOf }]) => type === 'string' || anyOf !== undefined)
  for (const [place, schema] of texts) {
    const { description = '' } = schema
    if (/ISO 8601|^IPv4 or IPv6 address\.$/.test(description) && !LAXER.test(description)) {
      // A parameter has its description beside the schema.
      test.ok(isFormatted(schema), `${place}: ${description}`)
    }
  }
  const formats = new Set(schemas.map(([, { format }]) => format).filter((format) => typeof format === 'string'))
  test.same([...formats].toSorted(), Object.keys(FORMATS).toSorted())
})

t.test('the document accepts the same addresses as the daemon', async (test) => {
  const validate = new Ajv2020({ strict: false, formats: FORMATS }).compile(plain(Ip))
  const check = Compile(Ip)
  const addresses = `192.0.2.1 0.0.0.0 255.255.255.255 256.0.0.1 192.0.2 192.0.2.1/24 01.2.3.4 ::1 :: fe80::1 fe80::1%eth0
    2001:db8::1 2001:DB8::1 2001:db8:::1 ::ffff:192.0.2.1 ::ffff:192.0.2.256 1:2:3:4:5:6:7:8 1:2:3:4:5:6:7 [::1] web1 localhost`
  for (const address of ['', ' 192.0.2.1', ...addresses.split(/\s+/)]) {
    test.equal(validate(address), check.Check(address), `"${address}"`)
  }
})

t.test('if a request matches two paths, the one whose first differing segment is literal applies', async (test) => {
  const router = new Router('', served)
  const isParameter = (segment: string | undefined) => segment?.startsWith('{') === true
  let pairs = 0
  for (const [index, one] of served.entries()) {
    for (const other of served.slice(index + 1)) {
      const [ours, theirs] = [one, other].map((endpoint) => documentedPath(endpoint).split('/')) as [string[], string[]]
      if (one.method !== other.method || ours.length !== theirs.length) continue
      const fits = ours.every((part, at) => part === theirs[at] || isParameter(part) || isParameter(theirs[at]))
      if (!fits) continue
      pairs += 1
      const at = ours.findIndex((part, place) => isParameter(part) !== isParameter(theirs[place]))
      const meant = isParameter(ours[at]) ? other : one
      const path = ours
        .map((part, place) => (isParameter(part) ? theirs[place] : part))
        .map((part) => part?.replace(/[{}]/g, ''))
      const found = router.find(one.method, path.join('/'))
      test.equal('route' in found && found.route.endpoint.name, meant.name, `${one.name} ${other.name}`)
    }
  }
  test.ok(pairs > 10)
})
