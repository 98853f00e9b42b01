import { readFileSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import t from 'tap'
import type { Endpoint } from '../../src/api/endpoint.ts'
import type { Example } from '../../src/api/openapi-examples.ts'
import { Router } from '../../src/http/router.ts'
import { endpoints } from '../../src/resources/index.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { type Exchanged, observeExchanges, problems } from '../fixtures/described.ts'
import { documentOf } from '../fixtures/openapi-document.ts'
import type { Json } from '../fixtures/read-document.ts'
import { extensionCalls } from './extension-calls.ts'
import { fullRecords } from './full-records.ts'
import { ELSEWHERE, NONE } from './written-examples.ts'

const FILE = new URL('../../src/api/examples.json', import.meta.url)
const isWriting = process.env['FULCRUM_WRITE_EXAMPLES'] === '1'
const HOW = 'FULCRUM_WRITE_EXAMPLES=1 npm test -- test/contract/examples.test.ts writes them anew'

const TEXT_MAX = 400
const ENTRIES_MAX = 2
const MOMENT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g
/** Fixed values for fields that differ between machines, by field name. */
const FIGURES: Readonly<Record<string, unknown>> = {
  disk: { size: 64_000_000_000, available: 48_000_000_000 },
  secondsLeft: 60,
}

/** Returns an example that is the same each time: values that differ between runs are replaced. */
function settled(value: unknown, ids: Map<string, string>): unknown {
  if (Array.isArray(value)) return value.slice(0, ENTRIES_MAX).map((one) => settled(one, ids))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, (one !== null && FIGURES[name]) || settled(one, ids)]),
    )
  }
  if (typeof value !== 'string') return value
  if (value === hostname()) return 'lb-1'
  return beginning(
    value
      .replaceAll(MOMENT, (_, parts = '', zone = '') => `2026-01-02T03:04:05${parts && '.000'}${zone}`)
      // No answer may look like a key, the document included.
      .replaceAll(/-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]+-----END [A-Z ]*PRIVATE KEY-----\n?/g, 'the key as PEM')
      .replaceAll(/-----BEGIN ([A-Z ]+)-----[^-]+-----END \1-----/g, '-----BEGIN $1-----\nMIIB\n-----END $1-----')
      .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, (id) => {
        if (!ids.has(id)) ids.set(id, `01900000-0000-7000-8000-${String(ids.size + 1).padStart(12, '0')}`)
        return ids.get(id) ?? id
      })
      .replaceAll(/^[A-Za-z0-9_-]{43}$/g, 'A'.repeat(43))
      .replaceAll(/^[0-9a-f]{64}$/g, 'a0'.repeat(32))
      .replaceAll(/([0-9A-F]{2}:){31}[0-9A-F]{2}/g, Array(32).fill('A0').join(':'))
      .replaceAll(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-z]{1,6}$/g, '01900000-0000-1')
      .replaceAll(/^\d{6}$/g, '123456')
      .replaceAll(/^[A-Z2-7]{5}-[A-Z2-7]{5}$/g, 'AAAAA-AAAAA')
      .replaceAll(/(^|secret=)[A-Z2-7]{32}\b/g, `$1${'A'.repeat(32)}`)
      .replaceAll(/^<svg [^]*<\/svg>$/g, '<svg xmlns="http://www.w3.org/2000/svg"></svg>')
      .replaceAll(/fulcrum_[0-9a-f-]{36}_[\w-]{43}/g, 'an API token')
      .replaceAll(/\/[^\s"]*\/fulcrum-appliance-\w+/g, '/var/lib/fulcrum')
      .replaceAll(/\bloaded\.[0-9a-f]{16}\b/g, 'loaded.0123456789abcdef')
      .replaceAll(/(table has not been read).*/g, '$1 yet'),
  )
}

/** Returns the first lines of a long text. */
function beginning(text: string): string {
  if (text.length <= TEXT_MAX) return text
  const lines = text.slice(0, TEXT_MAX).split('\n').slice(0, -1)
  return [...lines, '…'].join('\n')
}

/** They show the machine and everything that was created here, and change with either. */
const OF_MOMENT = /^services\.|^lvmSnapshots\.|^dateTime\.(get|timezones)$/

/** Of the operations of the specification, those of records: figures and lists of events belong to one moment. */
function isRecord({ name, reveals }: Endpoint): boolean {
  const [resource = ''] = name.split('.')
  const changed = endpoints.some((other) => [`${resource}.create`, `${resource}.update`].includes(other.name))
  return changed && !reveals && !OF_MOMENT.test(name)
}

/** Not in the specification, which has no example of it either. */
const isExtension = ({ extension, reveals, permissionOnly }: Endpoint) => extension && !reveals && !permissionOnly

/** A change of a few fields, to the values at the creation of the record. */
function changeOf({ body }: Endpoint, made: Readonly<Record<string, unknown>>): object | undefined {
  const required: readonly string[] = Reflect.get(body ?? {}, 'required') ?? []
  const fields = Object.keys(Reflect.get(body ?? {}, 'properties') ?? {}).filter((field) => field in made)
  const telling = fields.filter((field) => required.includes(field) || TELLING.has(field))
  const chosen = telling.length > 0 ? telling : fields.filter((field) => field === 'name')
  return chosen.length === 0 ? undefined : Object.fromEntries(chosen.map((field) => [field, made[field]]))
}
const TELLING: ReadonlySet<string> = new Set(['enabled', 'weight', 'description', 'disabled'])

/**
 * Collects examples of the records of full-records.ts, as created, read and changed, and of the calls of
 * extension-calls.ts.
 */
async function collected(test: Parameters<typeof fullRecords>[0]) {
  const router = new Router('/api/v1', endpoints)
  const examples = new Map<string, { request?: unknown; answer?: unknown }>()
  const stop = observeExchanges(({ method, path, body, status, text }: Exchanged) => {
    const match = router.find(method, `/api/v1${path.split('?')[0]}`)
    // A request that is refused, for example for want of a cluster, is a valid one all the same.
    if (status === 400 || status === 422 || !('route' in match) || !text.startsWith('{')) return
    const { endpoint } = match.route
    const known = examples.get(endpoint.name) ?? {}
    if (!(isExtension(endpoint) || (isRecord(endpoint) && status < 300))) return
    const answer = JSON.parse(text)
    const isEmpty = status >= 300 || (Array.isArray(answer.data) && answer.data.length === 0)
    // The first one with the most content.
    if (known.answer !== undefined || (known.request !== undefined && isEmpty)) return
    examples.set(endpoint.name, {
      ...known,
      ...(body === '' ? {} : { request: JSON.parse(body) }),
      ...(isEmpty ? {} : { answer }),
    })
  })
  try {
    const { call, node, records } = await fullRecords(test, certificateMaker(test))
    for (const endpoint of endpoints.filter(({ method, path }) => method === 'GET' && !/\{(?!appliance)/.test(path))) {
      if (isRecord(endpoint)) await call('GET', endpoint.path.replace(/\{applianceI[dD]\}/, node))
    }
    for (const [name, { path, read }] of records) {
      await read()
      const made = Object(examples.get(name.replace('.update', '.create'))?.request)
      const change = endpoints.find((endpoint) => endpoint.name === name)
      const body = change === undefined ? undefined : changeOf(change, made)
      if (body !== undefined) await call('PUT', path, { body })
    }
    await extensionCalls(test)
  } finally {
    stop()
  }
  for (const name of Object.keys(ELSEWHERE)) if (!examples.has(name)) examples.set(name, {})
  const sorted = [...examples].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return new Map(
    sorted.flatMap(([name, example]): readonly (readonly [string, Example])[] => {
      const known = { ...ELSEWHERE[name]?.example, ...(settled(example, new Map()) as Example) }
      return Object.keys(known).length === 0 ? [] : [[name, known]]
    }),
  )
}

t.test('the examples of the document match the requests and answers of this version', async (test) => {
  const found = await collected(test)
  if (isWriting) writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(found), null, 2)}\n`)
  const stored: Readonly<Record<string, Example>> = JSON.parse(readFileSync(FILE, 'utf8'))
  test.ok(Object.keys(stored).length > 50)
  for (const [name, example] of Object.entries(stored)) test.strictSame(example, found.get(name), `${name}: ${HOW}`)
  for (const name of found.keys()) if (!(name in stored)) test.comment(`${name} has no example yet: ${HOW}`)
})

t.test('every extension has an example of its body and of its data', async (test) => {
  const stored: Readonly<Record<string, Example>> = JSON.parse(readFileSync(FILE, 'utf8'))
  const hasFields = (schema: unknown) => Object.keys(Reflect.get(Object(schema), 'properties') ?? {}).length > 0
  const hasData = ({ data, whole }: Endpoint) =>
    whole !== undefined ||
    (data !== undefined && Reflect.get(data, '~kind') !== 'Void' && Reflect.get(data, 'maxItems') !== 0)
  const missing = endpoints.filter(isExtension).flatMap((endpoint) => {
    const { name, body, isForm, produces } = endpoint
    if (name in NONE) return []
    const { request, answer } = stored[name] ?? {}
    const needsRequest = hasFields(body) && !isForm
    const needsAnswer = produces.includes('application/json') && hasData(endpoint)
    return [
      ...(needsRequest && request === undefined ? [`${name}: body`] : []),
      ...(needsAnswer && answer === undefined ? [`${name}: data`] : []),
    ]
  })
  test.strictSame(missing, [], 'to be called in extension-calls.ts')
  const text = readFileSync(FILE, 'utf8')
  const home = new URL('../../', import.meta.url).pathname
  for (const own of [tmpdir(), home, `"${hostname()}"`]) test.notOk(text.includes(own), `${own} is of this machine`)
  test.notMatch(text, /argon2|PRIVATE KEY|fulcrum_0|"eyJ/)
})

t.test('each of them is in the document, and fits its schema', async (test) => {
  const document = documentOf(endpoints)
  const stored: Readonly<Record<string, Example>> = JSON.parse(readFileSync(FILE, 'utf8'))
  for (const [name, { request, answer }] of Object.entries(stored)) {
    const endpoint = endpoints.find((one) => one.name === name)
    test.ok(endpoint, name)
    if (endpoint === undefined) continue
    const { requestBody, responses } = document.operation(endpoint)
    const held = (holder: Json, example: unknown) => {
      const { example: shown, schema } = holder.content['application/json']
      test.strictSame(shown, example, name)
      test.equal(problems(schema, example), '', name)
    }
    if (request !== undefined) held(requestBody, request)
    if (answer !== undefined) held(responses[endpoint.status], answer)
  }
})
