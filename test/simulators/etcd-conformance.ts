import type { Test } from 'tap'
import type { KeyValue, OperationAnswer, RangeAnswer } from '../../src/etcd/transaction.ts'
import type { Watch, WatchEvent } from '../../src/etcd/watch.ts'
import { errorOf } from '../fixtures/etcd-error.ts'
import type { ClusterEtcd } from './etcd-in-memory.ts'

export interface ConformingEtcd {
  readonly etcd: ClusterEtcd
  readonly compact: (revision: number) => Promise<void>
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()
/** Revisions are relative to the first one of a case. */
const shown = ({ key, value, createRevision, modRevision, version, lease }: KeyValue, zero: number) =>
  [text(key), text(value), createRevision - zero, modRevision - zero, version, lease] as const
const keys = ({ kvs }: RangeAnswer) => kvs.map(({ key }) => text(key))
const shownEvent = ({ kind, kv }: WatchEvent, zero: number) =>
  [kind, text(kv.key), text(kv.value), kv.modRevision - zero, kv.version] as const

/** Reads so many events, and closes the watch. */
async function take(watch: Watch, count: number): Promise<readonly WatchEvent[]> {
  const events: WatchEvent[] = []
  for await (const report of watch) {
    if (report.kind === 'events') events.push(...report.events)
    if (events.length >= count) break
  }
  return events
}

/** The behaviour that the log of a cluster relies on, of an etcd that may hold anything outside `c/`. */
export async function etcdConformance(t: Test, { etcd, compact }: ConformingEtcd): Promise<void> {
  await t.test('revisions, versions and ranges', (t) => ranges(t, etcd))
  await t.test('comparisons', (t) => comparisons(t, etcd))
  await t.test('a transaction as a whole', (t) => transactions(t, etcd))
  await t.test('watches', (t) => watches(t, etcd))
  await t.test('compaction', (t) => compaction(t, { etcd, compact }))
}

async function ranges(t: Test, etcd: ClusterEtcd): Promise<void> {
  const zero = (await etcd.range({ key: 'c/none' })).revision
  t.equal(await etcd.put('c/1', 'a'), zero + 1)
  t.equal(await etcd.put('c/2', Uint8Array.of(0x62)), zero + 2)
  t.equal(await etcd.put('c/1', 'A'), zero + 3)
  await etcd.put('c/3', '')
  const all = await etcd.range({ prefix: 'c/' })
  t.same(
    all.kvs.map((kv) => shown(kv, zero)),
    [
      ['c/1', 'A', 1, 3, 2, '0'],
      ['c/2', 'b', 2, 2, 1, '0'],
      ['c/3', '', 4, 4, 1, '0'],
    ],
  )
  t.same([all.count, all.hasMore, all.revision - zero], [3, false, 4])
  const some = await etcd.range({ from: 'c/1', before: 'c/3' }, { limit: 1 })
  t.same([keys(some), some.count, some.hasMore], [['c/1'], 2, true], 'a limit shortens the answer, and says so')
  const then = await etcd.range({ prefix: 'c/' }, { revision: zero + 1 })
  t.same([then.kvs.map((kv) => shown(kv, zero)), then.revision - zero], [[['c/1', 'a', 1, 1, 1, '0']], 4], 'as before')
  const names = await etcd.range({ key: 'c/1' }, { keysOnly: true })
  t.same([keys(names), names.kvs[0]?.value.length], [['c/1'], 0])
  t.same(keys(await etcd.range({ key: 'c/1' }, { isSerializable: true })), ['c/1'])
  t.same(await etcd.range({ key: 'c/' }), { kvs: [], count: 0, hasMore: false, revision: zero + 4 })
  t.equal((await errorOf(etcd.range({ key: 'c/1' }, { revision: zero + 1_000 }))).kind, 'refused', 'not yet')
  t.equal(await etcd.delete({ from: 'c/1', before: 'c/3' }), 2)
  t.equal(await etcd.delete({ key: 'c/1' }), 0)
  t.equal(await etcd.put('c/1', 'again'), zero + 6, 'a deletion without keys makes no revision')
  const [again] = (await etcd.range({ key: 'c/1' })).kvs
  t.same(again && shown(again, zero), ['c/1', 'again', 6, 6, 1, '0'], 'it starts again')
  t.equal(await etcd.delete({ prefix: 'c/' }), 2)
}

async function comparisons(t: Test, etcd: ClusterEtcd): Promise<void> {
  const mod = await etcd.put('c/guard', '1 41')
  const key = 'c/guard'
  const [there, absent] = [{ key }, { key: 'c/none' }]
  const cases = [
    [{ ...there, of: 'value', is: '=', than: '1 41' }, true],
    [{ ...there, of: 'value', is: '=', than: '1 42' }, false],
    [{ ...there, of: 'value', is: '!=', than: '1 42' }, true],
    [{ ...there, of: 'value', is: '<', than: '1 5' }, true],
    [{ ...there, of: 'value', is: '>', than: '1 5' }, false],
    [{ ...there, of: 'modRevision', is: '=', than: mod }, true],
    [{ ...there, of: 'modRevision', is: '<', than: mod }, false],
    [{ ...there, of: 'createRevision', is: '=', than: mod }, true],
    [{ ...there, of: 'version', is: '>', than: 0 }, true],
    [{ ...absent, of: 'modRevision', is: '=', than: 0 }, true],
    [{ ...absent, of: 'createRevision', is: '=', than: 0 }, true],
    [{ ...absent, of: 'version', is: '!=', than: 0 }, false],
    // There is no value, not an empty one.
    [{ ...absent, of: 'value', is: '=', than: '' }, false],
    [{ ...absent, of: 'value', is: '!=', than: 'a' }, false],
    [{ ...absent, of: 'value', is: '<', than: 'a' }, false],
  ] as const
  for (const [comparison, holds] of cases) {
    const { succeeded } = await etcd.transact({ compare: [comparison] })
    t.equal(succeeded, holds, JSON.stringify(comparison))
  }
  const [first, second] = [cases[0][0], cases[1][0]]
  t.equal((await etcd.transact({ compare: [first, second] })).succeeded, false, 'all must hold')
  t.equal((await etcd.transact({})).succeeded, true)
  await etcd.delete({ key })
  t.equal((await etcd.transact({ compare: [{ key, of: 'modRevision', is: '=', than: 0 }] })).succeeded, true, 'gone')
  t.equal((await etcd.transact({ compare: [{ key, of: 'value', is: '!=', than: 'x' }] })).succeeded, false)
}

async function transactions(t: Test, etcd: ClusterEtcd): Promise<void> {
  const zero = await etcd.put('c/seq', '0')
  const write = (than: string, next: string) =>
    etcd.transact({
      compare: [{ key: 'c/seq', of: 'value', is: '=', than }],
      success: [{ put: `c/log/${next}`, value: next }, { put: 'c/seq', value: next }, { get: { prefix: 'c/log/' } }],
      failure: [{ get: { key: 'c/log/1' } }],
    })
  const found = (answer: OperationAnswer | undefined) =>
    answer?.did === 'get' ? answer.range.kvs.map((kv) => shown(kv, zero)) : undefined
  const won = await write('0', '1')
  t.same([won.succeeded, won.revision - zero, won.answers.map(({ did }) => did)], [true, 1, ['put', 'put', 'get']])
  t.same(found(won.answers[2]), [['c/log/1', '1', 1, 1, 1, '0']], 'it reads what it has written')
  const lost = await write('0', '2')
  t.same([lost.succeeded, lost.revision - zero], [false, 1], 'nothing was written')
  t.same(found(lost.answers[0]), [['c/log/1', '1', 1, 1, 1, '0']])
  const [seq] = (await etcd.range({ key: 'c/seq' })).kvs
  t.same(seq && shown(seq, zero), ['c/seq', '1', 0, 1, 2, '0'], 'everything in one revision')
  const double = await errorOf(
    etcd.transact({
      success: [
        { put: 'c/x', value: '1' },
        { put: 'c/x', value: '2' },
      ],
    }),
  )
  t.equal(double.kind, 'refused')
  t.same((await etcd.range({ prefix: 'c/x' })).count, 0, 'a key is put once or not at all')
  const gone = await etcd.transact({ success: [{ delete: { prefix: 'c/' } }, { get: { prefix: 'c/' } }] })
  t.same([gone.answers[0], found(gone.answers[1])], [{ did: 'delete', deleted: 2 }, []])
}

async function watches(t: Test, etcd: ClusterEtcd): Promise<void> {
  const zero = await etcd.put('c/w/1', 'a')
  await etcd.put('c/other', 'x')
  await etcd.transact({
    success: [{ put: 'c/w/2', value: 'b' }, { delete: { key: 'c/w/1' } }],
  })
  const past = await etcd.watch({ prefix: 'c/w/' }, { from: zero })
  t.equal(past.revision, zero + 2)
  const told = [
    ['put', 'c/w/1', 'a', 0, 1],
    ['put', 'c/w/2', 'b', 2, 1],
    ['delete', 'c/w/1', '', 2, 0],
  ]
  t.same(
    (await take(past, 3)).map((event) => shownEvent(event, zero)),
    told,
    'from then on, without others',
  )
  const inclusive = await etcd.watch({ from: 'c/w/', before: 'c/w0' }, { from: zero + 2 })
  t.same(
    (await take(inclusive, 2)).map((event) => shownEvent(event, zero)),
    told.slice(1),
    'the first revision is reported',
  )
  const now = await etcd.watch({ prefix: 'c/w/' })
  const coming = take(now, 2)
  await etcd.put('c/w/3', 'c')
  await etcd.put('c/other', 'y')
  await etcd.put('c/w/3', 'd')
  t.same(
    (await coming).map((event) => shownEvent(event, zero)),
    [
      ['put', 'c/w/3', 'c', 3, 1],
      ['put', 'c/w/3', 'd', 5, 2],
    ],
    'from now on',
  )
  const future = await etcd.watch({ prefix: 'c/w/' }, { from: zero + 7 })
  const later = take(future, 1)
  await etcd.put('c/w/4', 'early')
  await etcd.put('c/w/4', 'there')
  t.same(
    (await later).map((event) => shownEvent(event, zero)),
    [['put', 'c/w/4', 'there', 7, 2]],
    'from a future revision on',
  )
  const closed = await etcd.watch({ prefix: 'c/w/' })
  const ended = take(closed, 1)
  closed.close()
  t.same(await ended, [], 'after a close its end is not an error')
  await etcd.delete({ prefix: 'c/' })
}

async function compaction(t: Test, { etcd, compact }: ConformingEtcd): Promise<void> {
  const zero = await etcd.put('c/k', 'a')
  await etcd.put('c/k', 'b')
  await etcd.put('c/k', 'c')
  await compact(zero + 2)
  t.equal((await errorOf(etcd.range({ key: 'c/k' }, { revision: zero }))).kind, 'compacted')
  t.equal((await etcd.range({ key: 'c/k' }, { revision: zero + 2 })).count, 1, 'the last one is still there')
  t.equal((await etcd.range({ key: 'c/k' })).count, 1)
  const refusal = await errorOf(async () => await take(await etcd.watch({ key: 'c/k' }, { from: zero }), 1))
  t.match(refusal, { kind: 'compacted', facts: { compactRevision: zero + 2 } })
  t.equal((await errorOf(compact(zero + 1))).kind, 'compacted', 'already')
  await etcd.delete({ prefix: 'c/' })
}
