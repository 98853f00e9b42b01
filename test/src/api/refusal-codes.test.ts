import t, { type Test } from 'tap'
import { endpoint } from '../../../src/api/endpoint.ts'
import { refusalCodes } from '../../../src/api/refusal-codes.ts'
import type { ErrorCode } from '../../../src/base/errors.ts'
import { endpoints } from '../../../src/resources/index.ts'

const common = { staged: false, summary: 's', message: 'm', handle: () => undefined } as const
const named = (name: string) => {
  const found = endpoints.find((one) => one.name === name)
  if (found === undefined) throw new Error(`no endpoint ${name}`)
  return refusalCodes(found)
}
const has = (test: Test, name: string, ...codes: readonly ErrorCode[]) => {
  for (const code of codes) test.ok(named(name).includes(code), `${name} ${code}`)
}

t.test('public endpoints are refused for the request itself, or by a missing node', async (test) => {
  const codes = refusalCodes(
    endpoint({ ...common, name: 'a.b', method: 'GET', path: '/a', effect: 'read', access: 'public' }),
  )
  test.same(codes, ['MALFORMED_REQUEST', 'METHOD_NOT_ALLOWED', 'INVALID_QUERY', 'INTERNAL', 'NODE_UNREACHABLE'])
})

t.test('codes follow from the literal, with its own added; each is listed once', async (test) => {
  const codes = refusalCodes(
    endpoint({
      ...common,
      name: 'a.b',
      method: 'DELETE',
      path: '/a/{id}',
      effect: 'stage',
      refuses: ['IP_MISMATCH', 'NOT_FOUND'],
    }),
  )
  for (const code of [
    'UNAUTHENTICATED',
    'PERMISSION_DENIED',
    'NOT_FOUND',
    'IN_USE',
    'IP_MISMATCH',
    'REVISION_MISMATCH',
  ])
    test.equal(codes.filter((one) => one === code).length, 1, code)
  for (const code of ['READ_ONLY', 'NAME_NOT_UNIQUE', 'TRANSACTION_OPEN', 'APPLY_PARTIAL'])
    test.notOk(codes.includes(code as ErrorCode), code)
})

t.test('limits, exclusions and warnings are listed where they can occur', async (test) => {
  has(
    test,
    'services.apply',
    'DEPENDS_ON_PENDING',
    'WARNINGS',
    'APPLY_IN_PROGRESS',
    'TRANSACTION_OPEN',
    'APPLY_PARTIAL',
  )
  has(test, 'services.applyOnNode', 'DEPENDS_ON_PENDING', 'WARNINGS')
  for (const name of [
    'updates.start',
    'updates.majorVersion',
    'lvmSnapshots.create',
    'power.reboot',
    'backups.restore',
  ])
    has(test, name, 'JOB_IN_PROGRESS')
  has(test, 'account.createToken', 'LIMIT_REACHED')
  has(test, 'realServers.update', 'READ_ONLY')
  has(test, 'healthChecks.test', 'TOO_MANY_AT_ONCE')
  has(test, 'events.stream', 'TOO_MANY_AT_ONCE')
  test.notOk(named('realServers.halt').includes('READ_ONLY'), 'it has no body')
  for (const code of ['WARNINGS', 'READ_ONLY', 'LIMIT_REACHED', 'JOB_IN_PROGRESS'] as const)
    test.notOk(named('realServers.list').includes(code), code)
})

t.test('an operation that needs the machine alone is refused while another one runs', async (test) => {
  for (const name of ['dateTime.update', 'stickTables.clear', 'stickTables.clearKey'])
    has(test, name, 'APPLY_IN_PROGRESS', 'APPLY_PARTIAL')
})
