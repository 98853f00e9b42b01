import t, { type Test } from 'tap'
import type { ErrorCode } from '../../src/base/errors.ts'
import { ERRORS } from '../../src/base/errors.ts'
import { ADMIN, applianceFixture, type Received, stillFacts } from '../fixtures/appliance.ts'

/** Asserts the form of a refusal: status, code and message, and headers where the contract names them. */
function refused(test: Test, answer: Received, code: ErrorCode): Received {
  test.equal(answer.status, ERRORS[code].status, answer.text)
  test.match(answer.json, { status: 'error', code, message: String })
  return answer
}
const fields = (answer: Received): readonly string[] =>
  answer.json.errors.map((entry: { field: string }) => entry.field)

const user = (email: string) => ({ email, firstname: 'A', lastname: 'B', password: 'a-password', disabled: 'false' })
const rip = (name: string) => ({ name, ip: '127.0.0.1', port: 80 })

t.test('MALFORMED_REQUEST: a body that is no JSON object', async (test) => {
  const { call } = await applianceFixture(test)
  for (const raw of ['{', '[]', '3', '"x"', 'null'])
    refused(test, await call('POST', '/ipvsDirector/rips', { raw }), 'MALFORMED_REQUEST')
})

t.test('MALFORMED_REQUEST: Content-Length and Transfer-Encoding together', async (test) => {
  const { call } = await applianceFixture(test)
  const headers = { 'content-length': '2', 'transfer-encoding': 'chunked' }
  refused(test, await call('POST', '/ipvsDirector/rips', { raw: '{}', headers }), 'MALFORMED_REQUEST')
})

t.test('MALFORMED_REQUEST: a broken percent-encoding in the path', async (test) => {
  const { call } = await applianceFixture(test)
  refused(test, await call('GET', '/ipvsDirector/rips/%ZZ'), 'MALFORMED_REQUEST')
})

t.test('UNAUTHENTICATED: no token, a bad one, another scheme', async (test) => {
  const { anonymous } = await applianceFixture(test)
  for (const headers of [
    {},
    { authorization: 'Bearer x.y.z' },
    { authorization: 'Basic eDp5' },
    { authorization: 'Bearer ' },
  ]) {
    const answer = refused(test, await anonymous('GET', '/services', { headers }), 'UNAUTHENTICATED')
    test.equal(answer.headers['WWW-Authenticate'], 'Bearer')
  }
})

t.test('TOKEN_EXPIRED: the session of a token has ended', async (test) => {
  const { call, anonymous, login } = await applianceFixture(test)
  const id = (await call('POST', '/localUsers/users', { body: user('u@localhost') })).json.data.id
  await call('PUT', '/services/apply')
  const token = await login('u@localhost', 'a-password')
  test.equal((await anonymous('GET', '/token', { token })).status, 200)
  await call('DELETE', `/localUsers/users/${id}`)
  test.equal((await anonymous('GET', '/token', { token })).status, 200, 'staged only: still logged in')
  await call('PUT', '/services/apply')
  const answer = refused(test, await anonymous('GET', '/token', { token }), 'TOKEN_EXPIRED')
  test.equal(answer.headers['WWW-Authenticate'], 'Bearer')
})

t.test('INVALID_CREDENTIALS: a wrong password and an unknown e-mail are one answer', async (test) => {
  const { anonymous } = await applianceFixture(test)
  const wrong = await anonymous('POST', '/token', { body: { ...ADMIN, password: 'wrong' } })
  const unknown = await anonymous('POST', '/token', { body: { email: 'nobody@localhost', password: 'wrong' } })
  refused(test, wrong, 'INVALID_CREDENTIALS')
  test.equal(unknown.text, wrong.text)
  test.same(unknown.headers, wrong.headers)
})

t.test('login options are one answer for known and unknown e-mails', async (test) => {
  const { anonymous } = await applianceFixture(test)
  const known = await anonymous('POST', '/login/options', { body: { email: ADMIN.email } })
  const unknown = await anonymous('POST', '/login/options', { body: { email: 'nobody@localhost' } })
  test.equal(known.status, 200)
  test.equal(unknown.text, known.text)
})

t.test('PERMISSION_DENIED: a role without the endpoint', async (test) => {
  const { call, anonymous, login } = await applianceFixture(test)
  await call('POST', '/localUsers/users', { body: user('u@localhost') })
  await call('PUT', '/services/apply')
  const token = await login('u@localhost', 'a-password')
  refused(test, await anonymous('GET', '/services', { token }), 'PERMISSION_DENIED')
})

t.test('rights follow running at once: granted, then withdrawn, with the same token', async (test) => {
  const { call, anonymous, login } = await applianceFixture(test)
  const id = (await call('POST', '/localUsers/users', { body: user('u@localhost') })).json.data.id
  const endpoints = [{ path: '/services', methods: ['GET'] }]
  const role = (await call('POST', '/rbac/roles', { body: { name: 'r', users: [id], groups: [], endpoints } })).json
    .data.id
  await call('PUT', '/services/apply')
  const token = await login('u@localhost', 'a-password')
  test.equal((await anonymous('GET', '/services', { token })).status, 200)
  refused(test, await anonymous('GET', '/services/pending', { token }), 'PERMISSION_DENIED')
  await call('PUT', `/rbac/roles/${role}`, { body: { endpoints: [] } })
  await call('PUT', '/services/apply')
  refused(test, await anonymous('GET', '/services', { token }), 'PERMISSION_DENIED')
})

t.test('USER_DISABLED: only after the right password', async (test) => {
  const { call, anonymous } = await applianceFixture(test)
  await call('POST', '/localUsers/users', { body: { ...user('u@localhost'), disabled: 'true' } })
  await call('PUT', '/services/apply')
  refused(
    test,
    await anonymous('POST', '/token', { body: { email: 'u@localhost', password: 'a-password' } }),
    'USER_DISABLED',
  )
  refused(
    test,
    await anonymous('POST', '/token', { body: { email: 'u@localhost', password: 'wrong' } }),
    'INVALID_CREDENTIALS',
  )
})

t.test('METHOD_NOT_ALLOWED with Allow', async (test) => {
  const { call } = await applianceFixture(test)
  const answer = refused(test, await call('PATCH', '/ipvsDirector/rips'), 'METHOD_NOT_ALLOWED')
  test.equal(answer.headers['Allow'], 'GET, HEAD, POST, OPTIONS')
})

t.test('NAME_NOT_UNIQUE and ID_NOT_UNIQUE', async (test) => {
  const { call } = await applianceFixture(test)
  await call('POST', '/ipvsDirector/rips', { body: rip('one') })
  test.same(fields(refused(test, await call('POST', '/ipvsDirector/rips', { body: rip('ONE') }), 'NAME_NOT_UNIQUE')), [
    'name',
  ])
  refused(test, await call('POST', '/localUsers/users', { body: user('Admin@LOCALHOST') }), 'NAME_NOT_UNIQUE')
  await call('POST', '/rbac/groups', { body: { id: 'ops', name: 'a' } })
  test.same(
    fields(refused(test, await call('POST', '/rbac/groups', { body: { id: 'ops', name: 'b' } }), 'ID_NOT_UNIQUE')),
    ['id'],
  )
})

t.test('IN_USE names the users of a record', async (test) => {
  const { call } = await applianceFixture(test)
  const id = (await call('POST', '/ipvsDirector/rips', { body: rip('one') })).json.data.id
  await call('POST', '/layer7proxy/backends', { body: { name: 'be', mode: 'http', reals: [{ ripId: id }] } })
  const answer = refused(test, await call('DELETE', `/ipvsDirector/rips/${id}`), 'IN_USE')
  test.match(answer.json.data.usage, [{ resource: 'l7Backends', name: 'be', field: 'reals.0.ripId' }])
})

t.test('IN_USE: a default role cannot be deleted, renamed or given other rights', async (test) => {
  const { call } = await applianceFixture(test)
  const roles = (await call('GET', '/rbac/roles')).json.data
  const monitoring = roles.find((role: { name: string }) => role.name === 'Monitoring')
  refused(test, await call('DELETE', `/rbac/roles/${monitoring.id}`), 'IN_USE')
  refused(test, await call('PUT', `/rbac/roles/${monitoring.id}`, { body: { name: 'Other' } }), 'IN_USE')
  refused(test, await call('PUT', `/rbac/roles/${monitoring.id}`, { body: { endpoints: [] } }), 'IN_USE')
  const { id: _, ...read } = monitoring
  test.equal((await call('PUT', `/rbac/roles/${monitoring.id}`, { body: read })).status, 200, 'the record as read')
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)
})

t.test('APPLY_IN_PROGRESS with Retry-After: two applies at once, one wins', async (test) => {
  const { call } = await applianceFixture(test)
  await call('POST', '/ipvsDirector/rips', { body: rip('one') })
  const answers = await Promise.all([call('PUT', '/services/apply'), call('PUT', '/services/apply')])
  test.same(
    answers.map((answer) => answer.status).toSorted((a, b) => a - b),
    [200, 409],
  )
  const loser = answers.find((answer) => answer.status === 409)
  if (loser !== undefined) refused(test, loser, 'APPLY_IN_PROGRESS')
  test.equal(loser?.headers['Retry-After'], '1')
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)
})

t.test('REVISION_MISMATCH: a stale If-Match, on update, delete and moves', async (test) => {
  const { call } = await applianceFixture(test)
  const id = (await call('POST', '/ipvsDirector/rips', { body: rip('one') })).json.data.id
  const path = `/ipvsDirector/rips/${id}`
  const read = await call('GET', path)
  const stale = { headers: { 'if-match': String(read.headers['ETag']) } }
  test.match(read.headers['ETag'], /^"\d+"$/)
  test.equal((await call('PUT', path, { body: { port: 81 }, ...stale })).status, 200)
  refused(test, await call('PUT', path, { body: { port: 82 }, ...stale }), 'REVISION_MISMATCH')
  refused(test, await call('PUT', `${path}/drain`, stale), 'REVISION_MISMATCH')
  refused(test, await call('DELETE', path, stale), 'REVISION_MISMATCH')
  test.match((await call('GET', path)).json.data, { port: 81, state: 'online' })
})

t.test('PAYLOAD_TOO_LARGE: a body over 1 MiB', async (test) => {
  const { call } = await applianceFixture(test)
  const raw = JSON.stringify({ ...rip('one'), name: 'x'.repeat(1_100_000) })
  refused(test, await call('POST', '/ipvsDirector/rips', { raw }), 'PAYLOAD_TOO_LARGE')
})

t.test('UNSUPPORTED_MEDIA_TYPE: a body that is not declared as JSON', async (test) => {
  const { call } = await applianceFixture(test)
  for (const type of ['text/plain', '', 'application/jsonp', 'multipart/form-data']) {
    const sent = { raw: JSON.stringify(rip('one')), headers: { 'content-type': type } }
    refused(test, await call('POST', '/ipvsDirector/rips', sent), 'UNSUPPORTED_MEDIA_TYPE')
  }
  const sent = { raw: JSON.stringify(rip('one')), headers: { 'content-type': 'application/json; charset=utf-8' } }
  test.equal((await call('POST', '/ipvsDirector/rips', sent)).status, 201)
})

t.test('INVALID_BODY: references to records that do not exist, each named', async (test) => {
  const { call } = await applianceFixture(test)
  const body = { ...user('u@localhost'), groups: ['nope'], roles: ['nope'] }
  test.same(fields(refused(test, await call('POST', '/localUsers/users', { body }), 'INVALID_BODY')), [
    'groups.0',
    'roles.0',
  ])
  const role = { name: 'r', users: ['nope'], groups: [], endpoints: [] }
  test.same(fields(refused(test, await call('POST', '/rbac/roles', { body: role }), 'INVALID_BODY')), ['users.0'])
  const grants = { name: 'r', users: [], groups: [], endpoints: ['nope', { path: '/ping', methods: ['PUT'] }] }
  test.same(fields(refused(test, await call('POST', '/rbac/roles', { body: grants }), 'INVALID_BODY')), [
    'endpoints.0',
    'endpoints.1',
  ])
})

t.test('INVALID_BODY: every string field refuses line breaks and other control characters', async (test) => {
  const { call } = await applianceFixture(test)
  for (const name of ['a\nb', 'a\rb', 'a\u0000b', '\u0007', 'a\u007fb', '', '   ']) {
    refused(test, await call('POST', '/ipvsDirector/rips', { body: { ...rip('x'), name } }), 'INVALID_BODY')
  }
  for (const ip of ['1.2.3', '010.0.0.1', '1.2.3.4/24', 'host_', '::1%lo', '127.0.0.1\n', '']) {
    refused(test, await call('POST', '/ipvsDirector/rips', { body: { ...rip('x'), ip } }), 'INVALID_BODY')
  }
  for (const ports of ['', '0', '70000', '80-70', '80,', '80;81', '80 81', 'http', '80\n']) {
    const body = { name: 'fe', mode: 'http', ip: '::', ports }
    refused(test, await call('POST', '/layer7proxy/frontends', { body }), 'INVALID_BODY')
  }
  const check = (more: object) => ({ name: 'be', mode: 'http', healthCheck: { type: 'http', ...more } })
  for (const more of [{ path: '/a b' }, { path: '/a\nb' }, { host: 'a b' }, { expect: '200;' }, { expect: '99' }]) {
    refused(test, await call('POST', '/layer7proxy/backends', { body: check(more) }), 'INVALID_BODY')
  }
})

t.test('INVALID_QUERY: history needs a window, known metrics and an end that is not before its start', async (test) => {
  const { call, node } = await applianceFixture(test)
  const history = (query: string) => call('GET', `/${node}/layer7proxy/stats/frontends/x/history?${query}`)
  test.same(fields(refused(test, await history(''), 'INVALID_QUERY')), ['start', 'end'])
  test.same(fields(refused(test, await history('start=2&end=1'), 'INVALID_QUERY')), ['end'])
  const metrics = refused(test, await history('start=1&end=2&metrics=bytesIn,nope'), 'INVALID_QUERY')
  test.match(metrics.json.errors[0].message, /currentSessions, sessionRate, bytesIn, bytesOut/)
  for (const list of [',x', 'bytesIn,', ' , ']) {
    const { errors } = refused(
      test,
      await history(`start=1&end=2&metrics=${encodeURIComponent(list)}`),
      'INVALID_QUERY',
    ).json
    test.match(
      errors[0],
      { field: 'metrics', message: /^has an empty name, which is not one of currentSessions, / },
      list,
    )
  }
  test.match(metrics.json.message, /: metrics has "nope", which is not one of/)
  refused(test, await history('start=1&end=2&consolidation=median'), 'INVALID_QUERY')
  refused(test, await history('start=a&end=2'), 'INVALID_QUERY')
  refused(test, await history('start=1&end=2&resolution=0'), 'INVALID_QUERY')
})

t.test(
  'CONFIG_INVALID: problems of the whole configuration name record and field, and change nothing',
  async (test) => {
    const { call, machine } = await applianceFixture(test)
    const frontend = (name: string) => ({ name, mode: 'http', ip: '127.0.0.1', ports: '8080' })
    await call('POST', '/layer7proxy/frontends', { body: frontend('a') })
    const second = (await call('POST', '/layer7proxy/frontends', { body: frontend('b') })).json.data.id
    const before = (await call('GET', '/services/pending')).text
    for (const path of ['/services/apply', '/services/validate']) {
      const answer = refused(test, await call(path.endsWith('apply') ? 'PUT' : 'POST', path), 'CONFIG_INVALID')
      test.ok(
        fields(answer).some((field) => field.startsWith(`l7Frontends.${second}`)),
        answer.text,
      )
    }
    test.same(machine.host.journal, [])
    test.equal((await call('GET', '/services/pending')).text, before)
  },
)

t.test('APPLY_PARTIAL: a file that cannot be written is not the fault of the configuration', async (test) => {
  const { call, machine } = await applianceFixture(test)
  await call('POST', '/layer7proxy/frontends', { body: { name: 'f', mode: 'http', ip: '127.0.0.1', ports: '8080' } })
  const replaceFile = machine.host.replaceFile.bind(machine.host)
  machine.host.replaceFile = async () => {
    throw new Error('ENOSPC: no space left on device, write')
  }
  const answer = refused(test, await call('PUT', '/services/apply'), 'APPLY_PARTIAL')
  test.match(answer.json.message, /write .*haproxy\.cfg\.candidate/)
  test.match(answer.json.data.nodes, [{ ok: false, output: /ENOSPC: no space left on device/ }])
  machine.host.replaceFile = replaceFile
  test.equal((await call('PUT', '/services/apply')).status, 200, 'nothing is lost')
})

t.test('IN_USE: an edit that would leave no administrator, as soon as it is staged', async (test) => {
  const { call } = await applianceFixture(test)
  const [admin] = (await call('GET', '/localUsers/users')).json.data
  refused(test, await call('PUT', `/localUsers/users/${admin.id}`, { body: { disabled: true } }), 'IN_USE')
  refused(test, await call('DELETE', `/localUsers/users/${admin.id}`), 'IN_USE')
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)
})

t.test('READ_ONLY, NTP_ENABLED and WARNINGS', async (test) => {
  const facts = { ...stillFacts(), clock: async () => ({ timezone: 'Etc/UTC', ntpEnabled: true, tracking: undefined }) }
  const { call, node } = await applianceFixture(test, {}, { facts })
  const { id } = (await call('POST', '/ipvsDirector/rips', { body: rip('web') })).json.data
  const health = await call('PUT', `/ipvsDirector/rips/${id}`, { body: { port: 80, health: 'up' } })
  test.same(fields(refused(test, health, 'READ_ONLY')), ['health'])
  const dateTime = '2026-03-04T05:06:07Z'
  refused(test, await call('PUT', `/${node}/system/datetime`, { body: { dateTime } }), 'NTP_ENABLED')
  await call('POST', '/layer7proxy/frontends', { body: { name: 'fe', mode: 'http', ip: '127.0.0.1', ports: '8000' } })
  refused(test, await call('PUT', '/services/apply', { body: { refuseWarnings: true } }), 'WARNINGS')
})

t.test(
  'RATE_LIMITED with Retry-After: the sixth login after five failures, even with the right password',
  async (test) => {
    const { anonymous } = await applianceFixture(test)
    const attempt = (password: string, address: string) =>
      anonymous('POST', '/token', { body: { email: ADMIN.email, password }, address })
    for (let i = 0; i < 5; i += 1) refused(test, await attempt('wrong', '192.0.2.9'), 'INVALID_CREDENTIALS')
    const answer = refused(test, await attempt(ADMIN.password, '192.0.2.9'), 'RATE_LIMITED')
    test.match(answer.headers['Retry-After'], /^\d+$/)
    test.equal((await attempt(ADMIN.password, '192.0.2.10')).status, 200, 'another address is not locked')
  },
)

t.test('NOT_FOUND: an unknown service, on every operation', async (test) => {
  const { call, node } = await applianceFixture(test)
  for (const verb of ['reload', 'restart', 'update']) {
    refused(test, await call('PUT', `/services/nope/${verb}`), 'NOT_FOUND')
    refused(test, await call('PUT', `/${node}/services/nope/${verb}`), 'NOT_FOUND')
  }
})

t.test('a service update in trial is only recorded, and says so', async (test) => {
  const { call, machine } = await applianceFixture(test)
  const answer = await call('PUT', '/services/layer7proxy/update')
  test.equal(answer.status, 200)
  test.equal(answer.headers['X-Dry-Run'], 'true')
  test.same(answer.json.data, [])
  test.same(
    machine.host.journal.filter((entry) => entry.verb === 'run'),
    [],
  )
})

t.test('reload and restart act on the unit', async (test) => {
  const { call, machine, node } = await applianceFixture(test)
  for (const [verb, path] of [
    ['reload', '/services'],
    ['restart', `/${node}/services`],
  ] as const) {
    machine.host.takeJournal()
    test.equal((await call('PUT', `${path}/layer7proxy/${verb}`)).status, 200)
    test.match(
      machine.host.journal.filter((entry) => entry.verb === 'unit'),
      [{ unitVerb: verb }],
    )
  }
})

t.test(
  'apply returns an empty array without a body, and its result with a comment; force=restart restarts',
  async (test) => {
    const { call, machine, node } = await applianceFixture(test)
    await call('POST', '/ipvsDirector/rips', { body: rip('one') })
    test.same((await call('PUT', '/services/apply')).json.data, [])
    await call('POST', '/ipvsDirector/rips', { body: rip('two') })
    const { data } = (await call('PUT', `/${node}/services/apply`, { body: { comment: 'second' } })).json
    test.match(data, { applyId: String, revision: 3, nodes: [{ nodeId: node, ok: true }] })
    machine.host.takeJournal()
    await call('PUT', '/services/apply?force=restart')
    test.match(
      machine.host.journal.filter((entry) => entry.verb === 'unit'),
      [{ unitVerb: 'restart' }],
    )
  },
)

/** The caller is connected to the static IP that is removed. */
const cutting = () => stillFacts({ connections: async () => [{ local: '192.0.2.9', destination: '0.0.0.0/0' }] })

t.test(
  'TRANSACTION_OPEN: the user interface, a deleted static IP and a second transaction, inside and outside it',
  async (test) => {
    const { call, node } = await applianceFixture(test)
    const groupId = (
      await call('POST', '/ipgroups', { body: { name: 'lan', networkIp: '192.0.2.0', networkMask: 24 } })
    ).json.data.id
    const sip = (await call('POST', `/${node}/sips`, { body: { groupId, ip: '192.0.2.9' } })).json.data.id
    const { id } = (await call('POST', '/transactions')).json.data
    for (const headers of [{}, { 'x-transaction-id': id }]) {
      for (const [method, path, body] of [
        ['PUT', `/${node}/system/userinterface`, { apiPort: 9444 }],
        ['DELETE', `/${node}/sips/${sip}?ip=192.0.2.9`, undefined],
        ['POST', '/transactions', undefined],
      ] as const) {
        const answer = await call(method, path, { headers, ...(body === undefined ? {} : { body }) })
        test.match(answer, { status: 409, json: { code: 'TRANSACTION_OPEN', data: { id } } }, `${method} ${path}`)
      }
    }
    await call('PUT', `/transactions/${id}/rollback`)
    test.equal((await call('DELETE', `/${node}/sips/${sip}?ip=192.0.2.9`)).status, 200)
  },
)

t.test(
  'INVALID_BODY CONFIRMATION_REQUIRED: an apply that could cut the caller off, until it says how to proceed',
  async (test) => {
    const { machine, call, node } = await applianceFixture(test, {}, { touchesPackages: true, facts: cutting() })
    const groupId = (
      await call('POST', '/ipgroups', { body: { name: 'lan', networkIp: '192.0.2.0', networkMask: 24 } })
    ).json.data.id
    const sip = (await call('POST', `/${node}/sips`, { body: { groupId, ip: '192.0.2.9' } })).json.data.id
    await call('PUT', '/services/apply')
    await call('DELETE', `/${node}/sips/${sip}?ip=192.0.2.9`)
    machine.host.takeJournal()
    const answer = await call('PUT', '/services/apply')
    test.match(answer, {
      status: 422,
      json: { code: 'INVALID_BODY', errors: [{ field: 'confirmWithin', code: 'CONFIRMATION_REQUIRED' }] },
    })
    test.match(answer.json.message, /192\.0\.2\.9, which you are connected to, would be removed/)
    test.same(machine.host.journal, [], 'nothing was touched')
    test.equal((await call('PUT', '/services/apply', { body: { confirmWithin: 600 } })).status, 200)
    await call('PUT', '/services/apply/confirm')
  },
)

t.test('force applies it as well', async (test) => {
  const { call, node } = await applianceFixture(test, {}, { touchesPackages: true, facts: cutting() })
  const groupId = (await call('POST', '/ipgroups', { body: { name: 'lan', networkIp: '192.0.2.0', networkMask: 24 } }))
    .json.data.id
  const sip = (await call('POST', `/${node}/sips`, { body: { groupId, ip: '192.0.2.9' } })).json.data.id
  await call('PUT', '/services/apply')
  await call('DELETE', `/${node}/sips/${sip}?ip=192.0.2.9`)
  test.equal((await call('PUT', '/services/apply')).status, 422)
  test.match((await call('PUT', '/services/apply', { body: { force: true } })).json.data, { confirmBy: null })
})
