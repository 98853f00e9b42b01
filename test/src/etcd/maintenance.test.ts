import t, { type Test } from 'tap'
import { EtcdClient } from '../../../src/etcd/client.ts'
import { errorOf } from '../../fixtures/etcd-error.ts'
import { simulated } from '../../fixtures/etcd-client.ts'
import { CREDENTIALS, etcdGateway, type Handler } from '../../simulators/etcd-gateway.ts'

const ID = '17790612388982094074'

t.test('requests to members', async (test) => {
  const {
    client,
    asked,
    url: at,
  } = await simulated(test, {
    'maintenance/status': {
      header: { member_id: ID, revision: '9' },
      version: '3.5.16',
      dbSize: '32768',
      dbSizeInUse: '24576',
      leader: ID,
      raftIndex: '10',
      raftAppliedIndex: '10',
      raftTerm: '2',
      errors: ['etcdserver: no leader'],
    },
    'maintenance/hashkv': { header: { revision: '9' }, hash: 4294967295, compact_revision: '3' },
    'maintenance/alarm': {
      alarms: [{ memberID: ID, alarm: 'NOSPACE' }, { memberID: '1', alarm: 'CORRUPT' }, { memberID: '1' }],
    },
  })
  test.same(await client.maintenance.status({ at }), {
    memberId: ID,
    version: '3.5.16',
    dbSize: 32_768,
    dbSizeInUse: 24_576,
    leader: ID,
    isLearner: false,
    revision: 9,
    raftTerm: 2,
    raftIndex: 10,
    raftAppliedIndex: 10,
    errors: ['etcdserver: no leader'],
  })
  test.same(await client.maintenance.hash({ at }), { hash: 4_294_967_295, revision: 9, compactRevision: 3 })
  await client.maintenance.defragment({ at })
  const alarm = { memberId: ID, kind: 'NOSPACE' } as const
  test.same(await client.maintenance.alarms(), [alarm, { memberId: '1', kind: 'CORRUPT' }])
  await client.maintenance.disarm(alarm)
  await client.maintenance.moveLeader(ID)
  test.match(
    asked.map(({ path, fields }) => [path, fields]),
    [
      ['/v3/maintenance/status', {}],
      ['/v3/maintenance/hashkv', { revision: 0 }],
      ['/v3/maintenance/defragment', {}],
      ['/v3/maintenance/alarm', { action: 'GET' }],
      ['/v3/maintenance/alarm', { action: 'DEACTIVATE', memberID: ID, alarm: 'NOSPACE' }],
      ['/v3/maintenance/transfer-leadership', { targetID: ID }],
    ],
  )
})

async function snapshotOf(test: Test, handler: Handler, timeout_ms = 300_000) {
  const { url } = await etcdGateway(test, handler)
  const client = new EtcdClient({ gateways: [url], credentials: CREDENTIALS })
  test.teardown(() => client.close())
  const pieces: Uint8Array[] = []
  const bytes = await client.maintenance.snapshot((piece) => void pieces.push(piece), { timeout_ms })
  return { bytes, all: Buffer.concat(pieces).toString() }
}

const piece = (blob: string, left: number) =>
  `${JSON.stringify({ result: { blob: Buffer.from(blob).toString('base64'), remaining_bytes: `${left}` } })}\n`

t.test('a snapshot in pieces', async (test) => {
  const whole: Handler = (response) => response.end(`${piece('abc', 2)}${piece('de', 0)}${piece('sum', 0)}`)
  test.same(await snapshotOf(test, whole), { bytes: 8, all: 'abcdesum' })
})

t.test('an incomplete snapshot', async (test) => {
  const cut = await errorOf(snapshotOf(test, (response) => response.end(piece('abc', 2))))
  test.match(cut, { kind: 'unreachable', message: /ended its snapshot early/ })
  const broken = await errorOf(
    snapshotOf(test, (response) => response.write(piece('abc', 2), () => response.socket?.destroy())),
  )
  test.equal(broken.kind, 'unreachable')
  const hung = await errorOf(snapshotOf(test, (response) => response.write(piece('abc', 2)), 1000))
  test.match(hung.kind, /^(timeout|unreachable)$/)
  const none = await errorOf(snapshotOf(test, (response) => response.end()))
  test.equal(none.kind, 'unreachable')
})

t.test('an error of the reader is passed on as it is', async (test) => {
  const { url } = await etcdGateway(test, (response) => response.end(piece('abc', 0)))
  const client = new EtcdClient({ gateways: [url], credentials: CREDENTIALS, timeout_ms: 300_000 })
  test.teardown(() => client.close())
  const full = () => {
    throw new Error('the disk is full')
  }
  await test.rejects(client.maintenance.snapshot(full), /the disk is full/)
})
