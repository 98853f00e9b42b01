import t from 'tap'
import { broken, combined, EtcdError, isForAnother, refusal } from '../../../src/etcd/errors.ts'

t.test("etcd's message decides the kind", async (test) => {
  const cases = [
    [8, 'etcdserver: mvcc: database space exceeded', 'no-space'],
    [11, 'etcdserver: mvcc: required revision has been compacted', 'compacted'],
    [14, 'etcdserver: no leader', 'no-leader'],
    [14, 'etcdserver: leader changed', 'no-leader'],
    [14, 'etcdserver: rpc not supported for learner', 'unreachable'],
    [14, 'connection error: desc = "transport: Error while dialing: dial tcp: refused"', 'unreachable'],
    [14, 'etcdserver: unhealthy cluster', 'refused'],
    [14, 'etcdserver: request timed out', 'unknown-outcome'],
    [14, 'etcdserver: server stopped', 'unknown-outcome'],
    [14, 'transport is closing', 'unknown-outcome'],
    [4, 'context deadline exceeded', 'unknown-outcome'],
    [2, 'who knows', 'unknown-outcome'],
    [3, 'etcdserver: request is too large', 'refused'],
    [5, 'etcdserver: requested lease not found', 'refused'],
    [9, 'etcdserver: not leader', 'refused'],
  ] as const
  for (const [code, said, kind] of cases) {
    test.match(refusal(code, said, true), { kind, facts: { code } }, said)
    const read = kind === 'unknown-outcome' ? 'timeout' : kind
    test.equal(refusal(code, said, false).kind, read, said)
  }
})

t.test("a message contains etcd's own words, and nothing that was sent", async (test) => {
  const error = refusal(5, 'etcdserver: requested lease not found', true)
  test.same(
    [error.message, error.facts.said],
    ['it refuses: requested lease not found', 'etcdserver: requested lease not found'],
  )
  const quoting = refusal(3, 'proto: (line 1:8): invalid value for bytes field key: "secret"', true)
  test.same([quoting.message, quoting.facts], ['it refuses: error 3', { code: 3 }])
  test.notMatch(refusal(14, 'etcdserver: failed on "secret"', true).message, /secret/)
  test.equal(refusal(14, `etcdserver: ${'x'.repeat(1000)}`, true).facts.said?.length, 200)
})

t.test('a connection that breaks: an unsent request was not executed', async (test) => {
  const fresh = { isProven: false }
  test.equal(broken('ECONNREFUSED', { ...fresh, isWrite: true, isSent: false }).kind, 'unreachable')
  test.equal(broken('ECONNRESET', { ...fresh, isWrite: true, isSent: false }).kind, 'unreachable')
  test.equal(broken('ECONNRESET', { ...fresh, isWrite: true, isSent: true }).kind, 'unknown-outcome')
  test.equal(broken('ECONNRESET', { ...fresh, isWrite: false, isSent: true }).kind, 'unreachable')
  test.equal(broken('CERT_HAS_EXPIRED', { ...fresh, isWrite: true, isSent: false }).kind, 'untrusted')
  const alert = 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA'
  test.equal(broken(alert, { ...fresh, isWrite: true, isSent: true }).kind, 'untrusted')
  // On a connection that was used before, it says nothing about requests on their way.
  test.equal(broken(alert, { isProven: true, isWrite: true, isSent: true }).kind, 'unknown-outcome')
})

t.test('of several members, the most specific kind counts, with the message of each', async (test) => {
  const away = new EtcdError('unreachable', 'it refuses connections')
  test.equal(combined([['a:1', away]]), away)
  const error = combined([
    ['a:1', away],
    ['b:2', new EtcdError('no-leader', 'it has no leader', { code: 14 })],
  ])
  test.match(error, { kind: 'no-leader', facts: { code: 14 } })
  test.equal(error.message, 'it does not answer at any address: a:1: it refuses connections; b:2: it has no leader')
  test.equal(combined([]).kind, 'unreachable')
})

t.test('another member is asked where nothing can have happened', async (test) => {
  test.same(
    (['unreachable', 'untrusted', 'no-leader', 'timeout', 'unreadable'] as const).map((kind) =>
      isForAnother(new EtcdError(kind, '')),
    ),
    [true, true, true, true, true],
  )
  for (const kind of ['unknown-outcome', 'refused', 'no-space', 'compacted', 'closed'] as const) {
    test.notOk(isForAnother(new EtcdError(kind, '')), kind)
  }
  test.ok(isForAnother(refusal(9, 'etcdserver: not leader', true)))
})
