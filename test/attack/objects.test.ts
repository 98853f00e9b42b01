import t, { type Test } from 'tap'
import type { Caller, Received } from '../fixtures/appliance.ts'
import { concrete, endpoints } from './attack-fixture.ts'
import { loggedFixture } from './raw-fixture.ts'
import { wholeNode } from './whole-node.ts'

const MARK = 'pollutedByAttack'
/** Checks that a bare object has none of it, whatever was sent before. */
function assertClean(test: Test, what: string): void {
  const bare: Record<string, unknown> = {}
  for (const prototype of [bare, [], '', 0, () => undefined]) test.notOk(Reflect.get(Object(prototype), MARK), what)
  test.equal(Object.keys(Object.prototype).length, 0, what)
}

const VALUE = `{"${MARK}":true,"access":"public","isProgram":false,"disabled":false,"toString":null}`
/** Names that parsers have treated as more than names. */
const POISON = [
  `"__proto__":${VALUE}`,
  `"constructor":{"prototype":${VALUE}}`,
  `"prototype":${VALUE}`,
  `"__proto__":null`,
  `"__proto__":[${VALUE}]`,
  `"__defineGetter__":"x"`,
  `"hasOwnProperty":1,"toString":1,"valueOf":1,"toJSON":1,"then":1`,
  `"\\u005f_proto__":${VALUE}`,
]

const sends = (call: Caller, method: string, path: string, raw: string | Uint8Array) => call(method, path, { raw })
const isRefusal = ({ status }: Received) => status >= 400 && status < 500

t.test(
  'objects: __proto__, constructor and the like are unknown fields of every endpoint, also deep inside',
  async (test) => {
    const { call, node } = await loggedFixture(test)
    const changes = await wholeNode(test, call, node)
    for (const poison of POISON) {
      for (const { name, method, path } of endpoints) {
        if (method === 'GET' || /^(services|saml|oidc|transactions)\./.test(name)) continue
        const answer = await sends(call, method, concrete(path, node), `{${poison}}`)
        if (!isRefusal(answer)) test.fail(`${name} accepted {${poison}}: ${answer.text}`)
      }
      for (const { name, method, path, body } of changes) {
        const text = JSON.stringify(body)
        const nested = [...text.matchAll(/\{/g)].slice(0, 4)
        for (const { index } of nested) {
          const raw = `${text.slice(0, index + 1)}${poison},${text.slice(index + 1)}`
          const answer = await sends(call, method, path, raw)
          if (!isRefusal(answer)) test.fail(`${name} accepted ${raw.slice(0, 120)}: ${answer.text}`)
        }
      }
      assertClean(test, poison)
    }
    test.equal((await call('GET', '/services/pending')).json.data.count, 0, 'nothing was staged')
  },
)

t.test(
  'objects: __proto__ in queries, headers, transactions, sections of a backup and names of records',
  async (test) => {
    const { call, anonymous, node } = await loggedFixture(test)
    for (const name of ['__proto__', 'constructor', '__proto__[x]', 'constructor.prototype.x', '__proto__.x']) {
      const encoded = encodeURIComponent(name)
      // Parameters that begin with an underscore belong to clients, and are ignored.
      const isIgnored = name.startsWith('_')
      test.equal((await call('GET', `/services/pending?${encoded}=${MARK}`)).status, isIgnored ? 200 : 422, name)
      test.equal((await call('GET', `/services/pending?render=true&render=${MARK}`)).status, 422, 'a parameter twice')
      test.ok(isRefusal(await call('GET', `/jobs/${encoded}`)))
      test.ok(isRefusal(await call('PUT', `/transactions/${encoded}/commit`)))
      test.ok(isRefusal(await call('PUT', '/services/apply', { headers: { 'x-transaction-id': name } })))
      test.ok(isRefusal(await call('PUT', `/services/${encoded}/reload`)))
      test.ok(isRefusal(await call('GET', `/docs/${encoded}`)))
      test.ok(isRefusal(await anonymous('POST', '/token', { body: { email: name, password: name } })))
      const made = await call('POST', '/rbac/groups', { body: { id: '', name } })
      test.equal(made.status, 201, 'a name is only a name')
      test.equal((await call('GET', `/rbac/groups/${made.json.data.id}`)).json.data.name, name)
      for (const id of ['__proto__', 'constructor', 'toString'])
        test.ok(
          isRefusal(await call('POST', '/rbac/groups', { body: { id, name: `${name} ${id}` } })) || id !== '__proto__',
        )
    }
    const backup = (await call('GET', '/backup')).text
    for (const poison of POISON) {
      for (const { index } of [...backup.matchAll(/\{/g)].slice(0, 40)) {
        const damaged = `${backup.slice(0, index + 1)}${poison}${backup[index + 1] === '}' ? '' : ','}${backup.slice(index + 1)}`
        test.ok(isRefusal(await call('POST', '/backup/upload', { body: { backup: damaged } })), 'the checksum is wrong')
      }
      assertClean(test, poison)
    }
    test.equal((await call('PUT', '/services/apply')).status, 200)
    test.equal((await call('GET', `/${node}/interfaces`)).status, 200)
  },
)

t.test(
  'objects: deep nesting, long lists, repeated keys, odd numbers and broken text are refused or read as one value',
  async (test) => {
    const { call } = await loggedFixture(test)
    const create = (raw: string | Uint8Array) => sends(call, 'POST', '/ipvsDirector/rips', raw)
    const rip = (more: string) => `{"name":"a","ip":"127.0.0.1","port":80${more}}`
    for (const depth of [100, 5_000, 100_000])
      for (const [open, close] of [
        ['[', ']'],
        ['{"a":', '}'],
      ] as const) {
        const deep = `${open.repeat(depth)}1${close.repeat(depth)}`
        if (deep.length > 1_000_000) continue
        test.ok(isRefusal(await create(deep)))
        test.ok(isRefusal(await create(rip(`,"weight":${deep}`))))
        test.ok(isRefusal(await create(open.repeat(depth))), 'not closed')
      }
    const list = (count: number, item: string) => `[${Array.from({ length: count }, () => item).join(',')}]`
    for (const items of [list(200_000, '1'), list(100_000, '{}'), list(40_000, '"x"'), list(100_000, 'null')]) {
      test.ok(
        isRefusal(await sends(call, 'POST', '/layer7proxy/backends', `{"name":"b","mode":"tcp","reals":${items}}`)),
      )
      test.ok(isRefusal(await sends(call, 'POST', '/ciphers/lists', `{"name":"c","ciphers":${items}}`)))
      test.ok(isRefusal(await sends(call, 'POST', '/localUsers/me/tokens', `{"name":"t","endpoints":${items}}`)))
    }
    const keys = Array.from({ length: 50_000 }, (_, n) => `"k${n}":${n}`).join(',')
    const many = await create(`{${keys}}`)
    test.equal(many.status, 422)
    test.ok(many.text.length < 100_000, 'an answer does not echo')
    const twice = await create(rip(',"port":81,"port":82'))
    test.equal(
      (await call('GET', `/ipvsDirector/rips/${twice.json.data.id}`)).json.data.port,
      82,
      'the last of two keys, everywhere',
    )
    for (const number of [
      '1e309',
      '-1e309',
      '9007199254740993',
      '80.5',
      '0x50',
      '080',
      'NaN',
      'Infinity',
      '+80',
      '.5',
      '8e1_',
      '9'.repeat(100_000),
      '-1',
      '65536',
      '"80"',
      'true',
      '[80]',
    ])
      test.ok(isRefusal(await create(`{"name":"n","ip":"127.0.0.1","port":${number}}`)), number.slice(0, 20))
    test.equal((await create('{"name":"exponent","ip":"127.0.0.1","port":8e1}')).status, 201, '8e1 is 80')
    const bytes = (text: string, encoding: BufferEncoding) => Buffer.from(text, encoding)
    const half = Buffer.concat([
      bytes('{"name":"', 'utf8'),
      Buffer.from([0xed, 0xa0, 0x80]),
      bytes('","ip":"127.0.0.1","port":80}', 'utf8'),
    ])
    for (const raw of [
      bytes(rip(''), 'utf16le'),
      Buffer.concat([Buffer.from([0xff, 0xfe]), bytes(rip(''), 'utf16le')]),
      Buffer.concat([Buffer.from([0xff]), bytes(rip(''), 'utf8')]),
      half,
      bytes(`${rip('')}\u0000`, 'utf8'),
      bytes(`${rip('')}${rip('')}`, 'utf8'),
      bytes(`// a comment\n${rip('')}`, 'utf8'),
      bytes(rip(',}'), 'utf8'),
      bytes("{'name':'a'}", 'utf8'),
      bytes('', 'utf8'),
    ])
      test.ok(isRefusal(await create(raw)), raw.subarray(0, 20).toString('hex'))
    const surrogate = await create('{"name":"half \\ud800 of one","ip":"127.0.0.1","port":80}')
    test.match(surrogate.json, { code: 'INVALID_BODY', errors: [{ field: 'name', code: 'FORMAT' }] })
  },
)
