import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { BUILT_IN_CHECKS } from '../../../src/model/health-check.ts'
import type { CheckTrial } from '../../../src/model/machine-facts.ts'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

const SCRIPT = '#!/bin/sh\n# @param {"name":"host","type":"hostname","required":true}\nexit 0\n'
const BODY = { name: 'mine', description: 'Mine', script: SCRIPT, services: ['layer-7'] }
const HOST = { name: 'host', type: 'hostname', required: true }

async function fixture() {
  const trials: CheckTrial[] = []
  const tryCheck = async (trial: CheckTrial) => {
    trials.push(trial)
    return { exitCode: 3, durationMs: 12, output: 'three', up: false }
  }
  const { call, machine } = await borrow()
  Object.assign(machine.facts, { tryCheck })
  const create = async (more: object = {}) =>
    String((await call('POST', '/healthchecks', { body: { ...BODY, ...more } })).json.data.id)
  const refusal = async (more: object, method = 'POST', path = '/healthchecks') => {
    const { status, json } = await call(method, path, { body: { ...BODY, ...more } })
    return [status, json.code, json.errors?.map((error: { field: string }) => error.field)]
  }
  return { call, create, refusal, trials }
}

t.test('a script with headers, read back as an array of one', async (test) => {
  const { call, create } = await fixture()
  const id = await create()
  test.same((await call('GET', `/healthchecks/${id}`)).json.data, [{ ...BODY, id, parameters: [HOST], builtin: false }])
})

t.test('parameters of the body override headers', async (test) => {
  const { call, create } = await fixture()
  const parameters = [{ name: 'port', type: 'port', default: '80', label: 'Port' }]
  const read = async (id: string) => (await call('GET', `/healthchecks/${id}`)).json.data[0].parameters
  test.same(await read(await create({ parameters })), parameters)
  test.same(await read(await create({ name: 'other', parameters: [] })), [])
})

t.test(
  'another script brings its declared parameters along; one without declarations keeps the old ones',
  async (test) => {
    const { call, create } = await fixture()
    const id = await create()
    const script = SCRIPT.replace('"host"', '"peer"')
    const changed = async (more: object) => {
      test.equal((await call('PUT', `/healthchecks/${id}`, { body: { ...BODY, ...more } })).status, 200)
      return (await call('GET', `/healthchecks/${id}`)).json.data[0].parameters
    }
    test.same(await changed({ script }), [{ ...HOST, name: 'peer' }])
    test.same(await changed({ script, description: 'Other' }), [{ ...HOST, name: 'peer' }])
    test.same(await changed({ script: '#!/bin/sh\nexit 1\n' }), [{ ...HOST, name: 'peer' }])
    test.same(await changed({ parameters: [] }), [], 'sent ones take precedence')
  },
)

t.test("built-in checks are listed first and read like users' own ones", async (test) => {
  const { call, create } = await fixture()
  const id = await create()
  const { data } = (await call('GET', '/healthchecks')).json
  test.same(
    data.map((check: { id: string }) => check.id),
    [...BUILT_IN_CHECKS, id],
  )
  test.same(data.at(-1), { id, name: 'mine', description: 'Mine', services: ['layer-7'], builtin: false })
  const [dns] = (await call('GET', '/healthchecks/dns')).json.data
  test.match(dns, {
    id: 'dns',
    builtin: true,
    script: /^#!\/bin\/bash\n/,
    parameters: [{ name: 'name', required: true }],
  })
})

t.test('checks for a layer; an unknown service is 404', async (test) => {
  const { call, create } = await fixture()
  const id = await create()
  const ids = async (service: string) =>
    (await call('GET', `/healthchecks/service/${service}`)).json.data.map((check: { id: string }) => check.id)
  test.same(await ids('layer-7'), [...BUILT_IN_CHECKS, id])
  test.same(await ids('layer-4'), BUILT_IN_CHECKS)
  test.match((await call('GET', '/healthchecks/service/layer-5')).json, { code: 'NOT_FOUND' })
})

t.test('PARAMETER_CONFLICT, INVALID_NAME and defaults of another type', async (test) => {
  const { refusal } = await fixture()
  const declared = (...parameters: object[]) => refusal({ parameters })
  const conflict = { ...HOST, default: 'x' }
  test.same(await declared(conflict), [422, 'PARAMETER_CONFLICT', ['parameters.0.default']])
  test.same(await declared(HOST, HOST), [422, 'INVALID_NAME', ['parameters.1.name']])
  const wrong = { name: 'p', type: 'port', default: '70000' }
  test.same(await declared(wrong, conflict), [422, 'INVALID_BODY', ['parameters.0.default', 'parameters.1.default']])
  const headers = (line: string) => refusal({ script: `#!/bin/sh\n# @param ${line}\n` })
  test.same(await headers(JSON.stringify(conflict)), [422, 'PARAMETER_CONFLICT', ['script']])
  test.same(await headers('{"name":"a b","type":"string"}'), [422, 'INVALID_NAME', ['script']])
  test.same(await headers('{'), [422, 'INVALID_BODY', ['script']])
})

t.test('INVALID_NAME: a name in the body with other characters than letters and digits', async (test) => {
  const { refusal } = await fixture()
  for (const name of ['a-b', '', 'ü', 'x'.repeat(65), '--a']) {
    test.same(await refusal({ parameters: [{ name, type: 'string' }] }), [422, 'INVALID_NAME', ['parameters.0.name']])
  }
})

t.test('a script begins with #!, ends its lines with LF and is no larger than 256 KiB', async (test) => {
  const { refusal } = await fixture()
  for (const script of [
    'exit 0\n',
    '\n#!/bin/sh\n',
    '#!sh\n',
    '#!/bin/sh\r\n',
    '#!/bin/sh\n\u0000',
    '#!/bin/sh\n\ud800',
  ]) {
    test.same(await refusal({ script }), [422, 'INVALID_BODY', ['script']], JSON.stringify(script))
  }
  const large = `#!/bin/sh\n${'ü'.repeat(128 * 1024)}`
  test.same(await refusal({ script: large }), [413, 'PAYLOAD_TOO_LARGE', ['script']])
})

t.test('built-in checks are neither changed nor deleted, and keep their names', async (test) => {
  const { call, refusal } = await fixture()
  for (const [method, body] of [
    ['PUT', BODY],
    ['DELETE', undefined],
  ] as const) {
    const { json } = await call(method, '/healthchecks/ping', body === undefined ? {} : { body })
    test.match(json, { code: 'IN_USE', data: { usage: [{ resource: 'healthChecks', id: 'ping', field: 'builtin' }] } })
  }
  test.match(await refusal({ name: 'Ping' }), [409, 'NAME_NOT_UNIQUE'])
})

t.test("NAME_NOT_UNIQUE: the name of another user's check", async (test) => {
  const { create, refusal } = await fixture()
  await create()
  test.match(await refusal({ name: 'MINE' }), [409, 'NAME_NOT_UNIQUE'])
})

t.test('IN_USE: a check in use by a backend of either layer', async (test) => {
  const { call, create } = await fixture()
  const id = await create({ services: ['layer-4', 'layer-7'] })
  const healthCheck = { type: 'script', id, parameters: { host: 'h' } }
  for (const [resource, path, body] of [
    ['l7Backends', '/layer7proxy/backends', { name: 'b7', mode: 'tcp' }],
    ['l4Backends', '/ipvsDirector/backends', { name: 'b4' }],
  ] as const) {
    const made = await call('POST', path, { body: { ...body, healthCheck } })
    test.equal(made.status, 201, made.text)
    const usage = [{ resource, id: made.json.data.id, name: body.name, field: 'healthCheck.id' }]
    test.match((await call('DELETE', `/healthchecks/${id}`)).json, { code: 'IN_USE', data: { usage } })
    await call('DELETE', `${path}/${made.json.data.id}`)
  }
  test.equal((await call('DELETE', `/healthchecks/${id}`)).status, 200)
})

t.test('a change that would break a backend names it', async (test) => {
  const { call, create, refusal } = await fixture()
  const id = await create()
  const healthCheck = { type: 'script', id, parameters: { host: 'h' } }
  await call('POST', '/layer7proxy/backends', { body: { name: 'shop', mode: 'tcp', healthCheck } })
  const path = `/healthchecks/${id}`
  test.same(await refusal({ parameters: [] }, 'PUT', path), [422, 'INVALID_BODY', ['parameters']])
  test.same(await refusal({ services: ['layer-4'] }, 'PUT', path), [422, 'INVALID_BODY', ['services']])
  const { json } = await call('PUT', path, { body: { ...BODY, parameters: [] } })
  test.match(json.message, /the backend shop/)
  const changed = await call('PUT', path, { body: { ...BODY, name: 'other' } })
  test.match(changed.json, { data: { id } })
})

t.test('a test runs the stored script once with checked values', async (test) => {
  const { call, create, trials } = await fixture()
  const id = await create()
  const path = `/healthchecks/${id}/test`
  const wrong = await call('POST', path, { body: { ip: '192.0.2.1', port: 80, parameters: { x: '1' } } })
  test.match(wrong.json, { errors: [{ field: 'parameters.x' }, { field: 'parameters.host' }] })
  const { json } = await call('POST', path, { body: { ip: '192.0.2.1', port: 80, parameters: { host: 'h' } } })
  test.match(json.data, { exitCode: 3, durationMs: 12, output: 'three', up: false })
  test.same(trials, [{ script: SCRIPT, ip: '192.0.2.1', port: 80, flags: ['--host=h'] }])
  await call('POST', '/healthchecks/http/test', { body: { ip: '2001:db8::1', port: 80 } })
  test.same(trials.at(-1)?.flags, ['--path=/', '--expect=200-399'])
  test.match((await call('POST', '/healthchecks/none/test', { body: { ip: '192.0.2.1', port: 80 } })).json, {
    code: 'NOT_FOUND',
  })
})

t.test('a declaration needs only a name', async (test) => {
  const { call } = await borrow()
  const body = {
    name: 'p',
    description: '',
    services: ['layer-7'],
    script: '#!/bin/sh\n# @param {"name":"inHeader"}\n',
  }
  const { id } = (await call('POST', '/healthchecks', { body })).json.data
  const read = async () => (await call('GET', `/healthchecks/${id}`)).json.data[0].parameters
  test.same(await read(), [{ name: 'inHeader', type: 'string' }])
  const put = (more: object) => call('PUT', `/healthchecks/${id}`, { body: { ...body, ...more } })
  test.equal((await put({ parameters: [{ name: 'sent' }] })).status, 200)
  test.same(await read(), [{ name: 'sent', type: 'string' }])
  test.equal((await put({})).status, 200)
  test.same(await read(), [{ name: 'sent', type: 'string' }], 'omitted: as stored')
  test.equal((await put({ parameters: null })).status, 200)
  test.same(await read(), [{ name: 'inHeader', type: 'string' }], 'null: read from the script')
})

t.test('a script sent as a file name is stored as its content from then on', async (test) => {
  const { call, state } = await borrow()
  mkdirSync(join(state, 'scripts'))
  writeFileSync(join(state, 'scripts', 'probe.sh'), '#!/bin/sh\n# @param {"name":"path"}\nexit 0\n')
  const body = { name: 'by name', description: '', services: ['layer-4'], script: 'probe.sh' }
  const answer = await call('POST', '/healthchecks', { body })
  test.equal(answer.status, 201, answer.text)
  writeFileSync(join(state, 'scripts', 'probe.sh'), '#!/bin/sh\nexit 1\n')
  test.match((await call('GET', `/healthchecks/${answer.json.data.id}`)).json.data, [
    { script: '#!/bin/sh\n# @param {"name":"path"}\nexit 0\n', parameters: [{ name: 'path', type: 'string' }] },
  ])
  test.equal((await call('PUT', `/healthchecks/${answer.json.data.id}`, { body })).status, 200)
  test.match((await call('GET', `/healthchecks/${answer.json.data.id}`)).json.data, [{ script: '#!/bin/sh\nexit 1\n' }])
  const unknown = await call('POST', '/healthchecks', { body: { ...body, name: 'x', script: 'none.sh' } })
  test.match(unknown.json, {
    code: 'INVALID_BODY',
    errors: [{ field: 'script', message: new RegExp(join(state, 'scripts')) }],
  })
  for (const script of ['.', '..', '../x', 'a/b', 'exit 0', 'x'.repeat(65)]) {
    const refused = await call('POST', '/healthchecks', { body: { ...body, name: 'x', script } })
    test.match(refused.json, { code: 'INVALID_BODY', errors: [{ field: 'script', message: /name of a file/ }] }, script)
  }
})
