import { existsSync } from 'node:fs'
import t, { type Test } from 'tap'
import { systemClock } from '../../../src/base/clock.ts'
import { silentLog } from '../../../src/base/log.ts'
import { ClusterFiles } from '../../../src/membership/cluster-files.ts'
import { Membership } from '../../../src/membership/membership.ts'
import { openStore, refuses } from '../../fixtures/config.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { NO_PARTNER } from '../../fixtures/membership.ts'
import { freePort, ownLoopback } from '../../fixtures/traffic.ts'

const NOTHING_REVOKED = { serials: [], authorities: [1], lists: { peer: '', client: '' }, ofClients: [] }
const HOST = ownLoopback()
const NODE = { nodeName: 'left', address: HOST }

/** A machine whose etcd does not start; the system tests of clusters have one that does. */
async function withoutEtcd(test: Test) {
  const stateFolder = temporaryFolder(test, 'state')
  const done: string[] = []
  const execute = async (steps: readonly { readonly why: string }[]) => {
    done.push(...steps.map(({ why }) => why))
    const isStop = steps.every(({ why }) => why.startsWith('Stop'))
    if (isStop) return { ok: true, done: 1, recorded: 0, warnings: [] } as const
    const failure = {
      failedStep: 0,
      kind: 'unit',
      why: '',
      output: 'etcd exited at once',
      missing: true,
      undone: true,
    }
    return { ok: false, ...failure } as const
  }
  const parts = {
    store: openStore(test),
    stateFolder,
    nodeId: 'node-1',
    tokenKey: '',
    etcdSays: async () => 'etcd Version: 3.5.16' as string | undefined,
    executor: { execute, check: execute } as never,
    listen: { host: HOST, port: 9444 },
    handle: () => ({ status: 200, headers: {} }),
    onFolded: undefined,
    keepSessions: async () => undefined,
    ...NO_PARTNER,
    clock: systemClock,
    log: silentLog,
  }
  return { parts, done, folder: new ClusterFiles(stateFolder).folder }
}

t.test('a node that cannot form a cluster is unchanged', async (t) => {
  const { parts, folder } = await withoutEtcd(t)
  const membership = await Membership.open(parts)
  for (const address of ['', 'a:b', '192.0.2.1:0', '192.0.2.1:65533', '[192.0.2.1', 'a b:1:2', 'a b', '[192.0.2.1]:1'])
    await refuses(t, 'INVALID_BODY', () => membership.form({ ...NODE, name: 'site', address }))
  const error = await refuses(t, 'NOT_SUPPORTED', membership.form({ ...NODE, name: 'site' }))
  t.match(error.message, /exited at once/)
  t.notOk(existsSync(folder))
  t.same(
    [await membership.state(), membership.isOther, membership.others, membership.hasOthers],
    [undefined, false, undefined, false],
  )
  await membership.close()
})

t.test('a node without a suitable etcd contacts no other', async (t) => {
  const [id, bytes] = ['01234567-0123-0123-0123-0123456789ab', Buffer.alloc(32, 1).toString('base64url')]
  const token = `fj1.${id}.${bytes}.${bytes}.127.0.0.1:${await freePort()}`
  for (const [says, why] of [
    [undefined, /not installed/],
    ['etcd Version: 3.4.23', /3\.4\.23 is too old: install the package/],
  ] as const) {
    const { parts, done } = await withoutEtcd(t)
    const membership = await Membership.open({ ...parts, etcdSays: async () => says })
    for (const work of ['join', 'look'] as const)
      t.match((await refuses(t, 'NOT_SUPPORTED', membership[work]({ ...NODE, token }))).message, why)
    t.match((await refuses(t, 'NOT_SUPPORTED', membership.form({ ...NODE, name: 'site' }))).message, why)
    t.same(done, [])
  }
})

t.test('remains of forming one before a crash are deleted', async (t) => {
  const { parts, done, folder } = await withoutEtcd(t)
  const pem = { key: '', certificate: '', ca: '' }
  await new ClusterFiles(parts.stateFolder).prepare({ peer: pem, client: pem }, NOTHING_REVOKED, [])
  t.ok(existsSync(folder))
  await Membership.open(parts)
  t.notOk(existsSync(folder))
  t.same(done, ['Stop the member of etcd'])
})

t.test('tokens are created in a cluster, and lead to one', async (t) => {
  const membership = await Membership.open((await withoutEtcd(t)).parts)
  await refuses(t, 'NOT_FOUND', membership.issueToken('node', 60))
  const half = await refuses(t, 'INVALID_BODY', membership.join({ ...NODE, token: 'fj1.x' }))
  t.match(half.details.errors, [{ field: 'token', code: 'TOKEN_SHAPE' }])
  const [id, bytes] = ['01234567-0123-0123-0123-0123456789ab', Buffer.alloc(32, 1).toString('base64url')]
  const token = `fj1.${id}.${bytes}.${bytes}.127.0.0.1:${await freePort()}`
  await refuses(t, 'NODE_UNREACHABLE', membership.look({ ...NODE, token }))
  await refuses(t, 'NODE_UNREACHABLE', membership.join({ ...NODE, token }))
})

t.test('without a cluster there are no other nodes', async (t) => {
  const membership = await Membership.open((await withoutEtcd(t)).parts)
  t.equal(membership.isMember('node-1'), false)
  const refused = await membership.forward({} as never).catch((error: unknown) => error)
  t.match(refused, { kind: 'refused' })
  let asked = 0
  await membership.onOthers('PUT', () => String((asked += 1)), { actor: {}, client: { address: '' } } as never)
  t.equal(asked, 0)
})
