import t from 'tap'
import { auditedBody, SECRET_FIELD } from '../../../src/audit/audited-body.ts'
import { endpoints } from '../../../src/resources/index.ts'

t.test('the content of a body is stored, without secrets and files', async (test) => {
  test.same(
    auditedBody({
      dateTime: '2026-01-02',
      consolePassword: 'hunter2',
      backup: '{…}',
      packages: 'AAAA',
      deep: { privateKey: 'k', list: [{ token: 't', name: 'n' }] },
    }),
    {
      dateTime: '2026-01-02',
      consolePassword: '**',
      backup: '**',
      packages: '**',
      deep: { privateKey: '**', list: [{ token: '**', name: 'n' }] },
    },
  )
  test.equal(auditedBody({}), undefined)
  test.equal(auditedBody(undefined), undefined)
})

t.test('the stored body is bounded', async (test) => {
  const nested = { a: { a: { a: { a: { a: 1 } } } } }
  test.same(auditedBody(nested), { a: { a: { a: { a: '…' } } } })
  const large = auditedBody({ text: 'x'.repeat(10_000), list: Array.from({ length: 1000 }, () => 1) })
  test.ok(JSON.stringify(large).length < 1000)
})

/** Text fields of acting endpoints that hold neither a secret nor a file. A new one has to be considered. */
const HARMLESS = new Set([
  // Shown to all in GET /cluster.
  'reason',
  // Ids and names of nodes, shown there as well.
  'preferredNode',
  'partnerIsOff',
  'keep',
  'changes',
  'address',
  'nodeName',
  // The object of a silence: ids and names that rules and records show as well.
  'ruleId',
  'objectId',
  'objectName',
  'until',
  // Only its owner can use it.
  'transactionId',
  // The secrets of hosts are masked in place.
  'hosts',
  'authProtocol',
  'groupAttribute',
  'groupMappings',
  'nasIdentifier',
  'username',
  'RelayState',
  'name',
  'endpoints',
  // The secrets of hosts are masked in place.
  'hosts',
  'authProtocol',
  'groupAttribute',
  'groupMappings',
  'nasIdentifier',
  'username',
  'as',
  'comment',
  'dateTime',
  'email',
  'file',
  'gateway',
  'interface',
  'ipId',
  'to',
  'ip',
  'nodeId',
  // Of health checks: they are visible in the list of processes anyway.
  'parameters',
  'versionNumber',
])

t.test('every text field of acting endpoints is known to be harmless, or masked', async (test) => {
  const names = new Set<string>()
  const acting = endpoints.filter(({ effect }) => ['act', 'stage-and-act', 'apply'].includes(effect))
  for (const { body } of acting) {
    const properties: unknown = body === undefined ? {} : Reflect.get(body, 'properties')
    for (const [name, schema] of Object.entries(Object(properties))) {
      if (/string/.test(JSON.stringify(schema))) names.add(name)
    }
  }
  const unknown = [...names].filter((name) => !HARMLESS.has(name) && !SECRET_FIELD.test(name))
  test.same(unknown, [])
  test.ok(names.has('email') && names.has('password'))
})
