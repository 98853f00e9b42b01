import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { applianceFixture } from '../fixtures/appliance.ts'
import { concrete, createUser, endpoints, PASSWORD, roleIds } from './attack-fixture.ts'

/** Other notations of a slash, a dot, and the parent folder, as one program or another has understood them. */
const SLASHES = ['/', '//', '/./', '%2f', '%2F', '%5c', '\\', '%252f', '%c0%af', '%e0%80%af', '%ef%bc%8f', ';/', '/;x/']
const UP = ['..', '%2e%2e', '.%2e', '%252e%252e', '%c0%ae%c0%ae', '..;', '..%00', '%uff0e%uff0e', '...', '．．']

/** Returns every other notation of this path. */
function variants(template: string, node: string): readonly string[] {
  const path = concrete(template, node)
  const all = new Set<string>()
  const [first = ''] = path.slice(1).split('/', 1)
  for (const slash of SLASHES)
    all
      .add(path.replaceAll('/', slash))
      .add(`${slash}${path.slice(1)}`)
      .add(`${path}${slash}`)
  for (const up of UP) for (const slash of SLASHES) all.add(`/ping${slash}${up}${slash}${path.slice(1)}`)
  for (const more of [
    '/',
    '/.',
    '/..',
    '%20',
    ' ',
    '%00',
    '\u0000',
    ';',
    ';a=b',
    '%3f',
    '%23',
    '#',
    '.json',
    '~',
    '*',
    '%0a',
    '%0d%0a',
  ])
    all.add(`${path}${more}`)
  all.add(path.toUpperCase()).add(`/${first.charAt(0).toUpperCase()}${path.slice(2)}`)
  // The id of the node may be written in any way.
  if (!template.startsWith('/{')) all.add(`/%${first.charCodeAt(0).toString(16)}${path.slice(2)}`)
  all.add(path.replaceAll(/[^/]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`))
  all
    .add(`/.${path}`)
    .add(`/..${path}`)
    .add(`/../v1${path}`)
    .add(`/../../api/v1${path}`)
    .add(`https://127.0.0.1/api/v1${path}`)
  all.add(path.replace(/[aeiou]/, (c) => ({ a: 'а', e: 'е', i: 'і', o: 'о', u: 'υ' })[c] ?? c))
  all.delete(path)
  // One trailing slash is ignored for every caller: the next test.
  all.delete(`${path}/`)
  return [...all]
}

t.test("paths: no other notation of an endpoint's path leads to it, not even for an administrator", async (test) => {
  const { call, node } = await applianceFixture(test)
  const reached: string[] = []
  const without = endpoints.filter(({ path }) => !/\{(?!appliance)/.test(path))
  for (const { method, path } of without) {
    for (const variant of variants(path, node)) {
      const { status, json } = await call(method, variant, method === 'GET' ? {} : { raw: '{' })
      const isNowhere = status === 404 || status === 405 || (status === 400 && method === 'GET')
      // The last part was read as a parameter: the named record is looked for, and does not exist.
      const isParameter = status === 400 && json.code === 'MALFORMED_REQUEST'
      if (!isNowhere && !isParameter) reached.push(`${method} ${variant}: ${status}`)
    }
  }
  test.same(reached, [])
})

t.test('paths: one trailing slash leads to the same endpoint, and to the same rights', async (test) => {
  const { call, anonymous, login, node } = await applianceFixture(test)
  await createUser(call, 'nobody@localhost', [])
  await call('PUT', '/services/apply')
  const token = await login('nobody@localhost', PASSWORD)
  for (const { method, path, access } of endpoints) {
    const isAbove = endpoints.some((other) => other.method === method && other.path.startsWith(`${path}/{`))
    // An empty id deletes nothing.
    if (method === 'DELETE' && isAbove) continue
    const slashed = `${concrete(path, node)}/`
    const raw = method === 'GET' ? '' : '{'
    if (access !== 'public') test.equal((await anonymous(method, slashed, { raw })).status, 401, `${method} ${slashed}`)
    if (access !== 'granted') continue
    test.equal((await anonymous(method, slashed, { token, raw })).status, 403, `${method} ${slashed}`)
  }
})

t.test('paths: endpoints that a role lacks cannot be reached through those that it has', async (test) => {
  const { call, anonymous, login, node } = await applianceFixture(test)
  const roles = await roleIds(call)
  await createUser(call, 'op@localhost', [roles['Operator'] ?? ''])
  await call('PUT', '/services/apply')
  const token = await login('op@localhost', PASSWORD)
  const doors = [
    '/ping',
    '/docs',
    '/docs/start.js',
    '/openapi.json',
    '/services',
    '/ipvsDirector/rips',
    '/ipvsDirector/rips/x',
    `/${node}/sips/x`,
  ]
  const wanted = ['backup', 'audit', 'certificates/certs/x']
  const got: string[] = []
  for (const door of doors)
    for (const target of wanted)
      for (const up of UP)
        for (const slash of SLASHES) {
          const depth = door.split('/').length - 1
          const path = `${door}${slash}${Array.from({ length: depth }, () => up).join(slash)}${slash}${target}`
          const { status, text } = await anonymous('GET', path, { token })
          if (status < 400 || /PRIVATE KEY|requestId|"sections"/.test(text)) got.push(`${path}: ${status}`)
        }
  test.same(got, [])
})

const TRAVERSALS = UP.flatMap((up) =>
  ['/', '%2f', '%5c', '\\', '%252f', '%c0%af'].flatMap((slash) => [
    `${up}${slash}token-key.pem`,
    `${up}${slash}${up}${slash}${up}${slash}${up}${slash}etc${slash}passwd`,
    `${slash}etc${slash}passwd`,
    `x${slash}${up}${slash}${up}${slash}token-key.pem`,
    `host-20260101-000000.json${slash}${up}${slash}${up}${slash}token-key.pem`,
  ]),
)
const NAMES = [
  ...TRAVERSALS,
  '.',
  '..',
  '%00',
  '.heads.json',
  'token-key.pem',
  'token-key.pem%00.json',
  'host-20260101-000000.json%00',
  'host-20260101-000000.json%0a',
  'host-20260101-000000.json%20',
  'CON',
  'file:%2f%2f%2fetc%2fpasswd',
  '%2fproc%2fself%2fenviron',
  `${'a'.repeat(5000)}.json`,
  '__proto__',
  'constructor',
  'toString',
  '-1',
  '1e3',
  '0x1',
  '9007199254740993',
  '%F0%9F%A6%8A',
  '%ed%a0%80',
]

/** A file of the state folder that no endpoint may read or remove. */
async function withBait(test: Test) {
  const fixture = await applianceFixture(test)
  const bait = join(fixture.state, 'host-20260101-000000.json')
  writeFileSync(bait, '{"bait":"root:x:0:0"}')
  return { ...fixture, bait }
}

t.test('paths: names of backups, documents, certificates, jobs and revisions never leave their place', async (test) => {
  const { call, node, state, bait } = await withBait(test)
  const before = readdirSync(state).toSorted()
  const wrong: string[] = []
  const withParameter = endpoints.filter(({ path }) => /\{(?!appliance)/.test(path))
  test.ok(withParameter.length > 60)
  for (const [index, { method, path, name }] of withParameter.entries()) {
    for (const value of NAMES.filter((_, place) => (place + index) % 4 === 0 || /backup|docs/.test(path))) {
      const asked = concrete(path, node, value)
      const { status, text } = await call(method, asked)
      // An update without a body, a history without a window: refused before the record is looked up.
      const isRefused = [400, 404, 405, 409, 415, 422, 429].includes(status)
      if (!isRefused || /root:x:0|PRIVATE KEY|bait/.test(text)) wrong.push(`${name} ${asked.slice(0, 100)}: ${status}`)
    }
  }
  test.same(wrong, [])
  test.ok(existsSync(bait))
  test.same(readdirSync(state).toSorted(), before, 'no file was created or deleted')
})

t.test('paths: in bodies and queries, names of files, time zones and interfaces never become paths', async (test) => {
  const { call, node, bait } = await withBait(test)
  for (const value of NAMES.map(decoded)) {
    const attempts = [
      await call('POST', '/backup/restore', { body: { name: value, types: ['layer7'] } }),
      await call('POST', '/backup/restore', { body: { file: value, sections: ['layer7'] } }),
      await call('PUT', `/${node}/system/datetime/timezone`, { body: { zone: value } }),
      await call('POST', `/${node}/routes`, { body: { name: 'r', type: 'default', interface: value } }),
    ]
    for (const { status, text } of attempts) {
      if (status < 400 || status >= 500) test.fail(`${value}: ${status} ${text.slice(0, 200)}`)
      test.notMatch(text, /root:x:0|bait/)
    }
  }
  test.ok(existsSync(bait))
})

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
