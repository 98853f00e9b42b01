import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { LostRaceError } from '../../../storage/config/entry.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { turn } from '../../../src/base/turns.ts'
import { encodeEnvelope, envelopeOf } from '../../../src/cluster/envelope.ts'
import { LargeValues } from '../../../src/cluster/large-values.ts'
import { BASE, GUARD, logName } from '../../../src/cluster/places.ts'
import { ClusterKeys, newClusterKey } from '../../../src/cluster/sealing.ts'
import { MemoryCluster, type MemoryNode, staged, untilClosed, valueOn, when } from '../../fixtures/cluster-in-memory.ts'
import type { Call, EtcdOfNode, Fault } from '../../simulators/etcd-in-memory.ts'

/** A log of entries that nodes share, on an etcd that behaves as the test wants. */

const NEXT_KEY = newClusterKey()

const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString()

async function two(t: Test, more: Parameters<MemoryCluster['node']>[1] = {}) {
  const cluster = await MemoryCluster.form(t)
  return { cluster, first: await cluster.node('node-1', more), second: await cluster.node('node-2', more) }
}

/** Resolves with the error. */
const refusal = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  )

/** Lets these calls fail, one fault each. */
function failsFor(etcd: EtcdOfNode, kind: Call['kind'], ...faults: readonly Fault[]): void {
  const left = [...faults]
  etcd.fault = (call) => (call.kind === kind ? left.shift() : undefined)
}

/** A promise that the test resolves. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = () => undefined as void
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

const countOf = ({ calls }: EtcdOfNode, kind: Call['kind']) => calls.filter((call) => call.kind === kind).length
const reached = (position: number, ...nodes: readonly Pick<MemoryNode, 'log'>[]) =>
  when(() => nodes.every(({ log }) => log.position >= position))

function refusedFor(t: Test, found: unknown, words: RegExp): void {
  t.ok(found instanceof ApiError && found.code === 'NO_QUORUM', String(found))
  t.match(found instanceof Error ? found.message : '', words)
}

t.test('an entry is written once, and folded by all', async (t) => {
  const told: unknown[] = []
  const cluster = await MemoryCluster.form(t)
  const first = await cluster.node('node-1')
  const onFolded = (envelope: unknown, position: number) => told.push([envelope, position])
  const second = await cluster.node('node-2', { onFolded })
  await first.log.append(staged('a', { text: 'a secret' }), 0)
  t.same([first.log.position, valueOn(first, 'a')], [1, { text: 'a secret' }])
  await reached(1, second)
  t.same(valueOn(second, 'a'), { text: 'a secret' })
  t.match(told, [[{ node: 'node-1', at: '2026-01-02T03:04:05.000Z', entry: { op: 'stage' } }, 1]])
  const all = await cluster.stranger.range({ prefix: '/f/' })
  t.same(
    all.kvs.map(({ key }) => text(key)),
    [logName(1), GUARD],
  )
  t.equal(text(all.kvs[1]?.value), '1 1')
  t.notOk(text(all.kvs[0]?.value).includes('secret'))
})

t.test('a refusal is not based on what a node has not folded yet', async (t) => {
  const { first, second } = await two(t)
  second.etcd.loses = () => true
  await first.log.append(staged('a', 1), 0)
  const replace = () => {
    if (valueOn(second, 'a') === undefined) throw new Error('there is no such record')
    return { result: valueOn(second, 'a'), entry: staged('a', 2) }
  }
  t.equal(await second.store.edit(replace), 1)
  await first.log.catchUp()
  t.equal(valueOn(first, 'a'), 2)
  failsFor(second.etcd, 'range', 'unreachable')
  const refused = second.store.edit(() => {
    throw new Error('no')
  })
  t.match(await refusal(refused), { message: 'no' }, 'also when nobody answers')
})

t.test('a refusal does not wait for room on the disk', async (t) => {
  const { cluster, first } = await two(t)
  const full = await cluster.node('full', { pause: untilClosed })
  full.etcd.loses = () => true
  await first.log.append(staged('a', 1), 0)
  full.folding.failures = Infinity
  const refused = full.store.edit(() => {
    throw new Error('no')
  })
  t.match(await refusal(refused), { message: 'no' })
  t.match(full.said, [/could not be stored/])
})

t.test('a node that has not folded everything does not even ask', async (t) => {
  const { first } = await two(t)
  await first.log.append(staged('a', 1), 0)
  const asked = first.etcd.calls.length
  t.ok((await refusal(first.log.append(staged('a', 2), 0))) instanceof LostRaceError)
  t.equal(first.etcd.calls.length, asked)
})

t.test('a late answer: the watch has returned the entry before', async (t) => {
  const { cluster, first } = await two(t)
  const { opened, open } = gate()
  failsFor(first.etcd, 'transact', opened)
  const written = first.log.append(staged('a', 1), 0)
  await reached(1, first)
  open()
  await written
  t.equal(first.folding.folds, 1)
  t.same(await cluster.entries(), [1])
})

for (const fault of ['lost after', 'lost before', 'unreachable'] as const) {
  t.test(`a try that is ${fault} is followed by another, and the entry is there once`, async (t) => {
    const { cluster, first, second } = await two(t)
    failsFor(first.etcd, 'transact', fault)
    await first.log.append(staged('a', 1), 0)
    t.equal(countOf(first.etcd, 'transact'), 2)
    t.same(await cluster.entries(), [1])
    await reached(1, second)
    t.same([first.folding.folds, second.folding.folds], [1, 1])
  })
}

t.test('a hanging member costs an edit 1.5 s of its six, twice; then a slow one has its time', async (t) => {
  const { first } = await two(t)
  const faults: Fault[] = ['lost before', 'lost before', 'lost before']
  first.etcd.fault = ({ kind }) => (kind === 'transact' ? faults.shift() : undefined)
  await first.log.append(staged('a', 1), 0)
  const tries = first.etcd.calls.filter(({ kind }) => kind === 'transact')
  t.same(
    tries.map(({ patience_ms }) => patience_ms),
    [1500, 1500, undefined, undefined],
  )
})

t.test('a try that is executed while the next one is answered is no second entry', async (t) => {
  const { cluster, first, second } = await two(t)
  failsFor(first.etcd, 'transact', 'later')
  await first.log.append(staged('a', 1), 0)
  cluster.etcd.late()
  await first.log.append(staged('b', 1), 1)
  await reached(2, second)
  t.same(await cluster.entries(), [1, 2])
})

t.test('no answer: nothing was changed', async (t) => {
  const { cluster, first } = await two(t)
  const { revision } = cluster.etcd
  first.etcd.fault = () => 'unreachable'
  refusedFor(t, await refusal(first.log.append(staged('a', 1), 0)), /Nothing was changed/)
  t.equal(countOf(first.etcd, 'transact'), 61, 'for six seconds, ten times in each')
  t.equal(cluster.etcd.revision, revision)
  first.etcd.fault = () => 'full'
  refusedFor(t, await refusal(first.log.append(staged('a', 1), 0)), /no space left. Nothing was changed/)
  first.etcd.fault = () => undefined
  await first.log.append(staged('a', 2), 0)
  t.equal(valueOn(first, 'a'), 2)
})

t.test('no answer after a lost try: its outcome is unknown', async (t) => {
  const { cluster, first, second } = await two(t)
  const faults: Fault[] = ['later']
  first.etcd.fault = ({ kind }) => (kind === 'transact' ? (faults.shift() ?? 'unreachable') : undefined)
  refusedFor(
    t,
    await refusal(first.log.append(staged('a', 1), 0)),
    /It is unknown whether the change was written: read/,
  )
  t.same([first.log.position, valueOn(first, 'a')], [0, undefined])
  cluster.etcd.late()
  await reached(1, first, second)
  t.equal(valueOn(first, 'a'), 1, 'it is in force after all')
})

t.test('an entry whose parts were lost has certainly changed nothing', async (t) => {
  const { first } = await two(t)
  first.etcd.fault = ({ kind }) => (kind === 'put' ? 'lost after' : undefined)
  const large = randomBytes(100_000).toString('base64')
  refusedFor(t, await refusal(first.log.append(staged('a', large), 0)), /Nothing was changed/)
  t.equal(countOf(first.etcd, 'transact'), 0)
})

t.test('a lost race: the winner is folded, and parts of the loser are deleted', async (t) => {
  const { cluster, first, second } = await two(t)
  second.etcd.holdWatches()
  await first.log.append(staged('a', 1), 0)
  const large = randomBytes(100_000).toString('base64')
  t.ok((await refusal(second.log.append(staged('a', large), 0))) instanceof LostRaceError)
  t.same([second.log.position, valueOn(second, 'a')], [1, 1])
  t.equal((await cluster.stranger.range({ prefix: '/f/part/' })).count, 0)
  await second.store.write(staged('a', large))
  await reached(2, first)
  t.ok(valueOn(first, 'a') === large)
  t.equal((await cluster.stranger.range({ prefix: '/f/part/' })).count, 1)
})

t.test('a lost race against an entry that cannot be read here', async (t) => {
  const { cluster, first } = await two(t)
  first.etcd.holdWatches()
  const newer = { ...envelopeOf('x', 'node-9', '', { op: 'thaw', applyId: 'a' }), v: 2 }
  await cluster.writeRaw(1, newer)
  refusedFor(t, await refusal(first.store.write(staged('a', 1))), /Nothing was changed.*entry 1 .*it has version 2/)
})

t.test('a lost race while etcd cannot be read afterwards', async (t) => {
  const { first, second } = await two(t)
  second.etcd.holdWatches()
  await first.log.append(staged('a', 1), 0)
  failsFor(second.etcd, 'range', 'unreachable')
  t.ok((await refusal(second.log.append(staged('a', 2), 0))) instanceof LostRaceError)
  t.equal(second.log.position, 0)
  await second.store.write(staged('a', 2))
  t.equal(second.log.position, 2)
})

t.test('the log has moved on so far that the place of a lost try is cleared: its outcome is unknown', async (t) => {
  const { cluster, first } = await two(t)
  first.etcd.holdWatches()
  const clear = () =>
    cluster.etcd.transact({ success: [{ put: GUARD, value: '1 2000' }, { delete: { prefix: logName(1) } }] })
  first.etcd.fault = ({ kind }) => {
    if (kind !== 'transact') return undefined
    if (countOf(first.etcd, 'transact') === 1) return 'lost after'
    clear()
    return undefined
  }
  refusedFor(
    t,
    await refusal(first.log.append(staged('a', 1), 0)),
    /It is unknown whether the change was written: read/,
  )
})

t.test('a watch that loses an event: the next number reveals it, and the gap is filled', async (t) => {
  const { first, second } = await two(t)
  second.etcd.loses = ({ kv }) => text(kv.key) === logName(2)
  await first.log.append(staged('a', 1), 0)
  await first.log.append(staged('b', 2), 1)
  await reached(1, second)
  for (let i = 0; i < 20; i++) await turn()
  t.equal(second.log.position, 1, 'nothing reveals it yet')
  await first.log.append(staged('c', 3), 2)
  await reached(3, second)
  t.same([valueOn(second, 'b'), valueOn(second, 'c')], [2, 3])
  t.match(second.said, ['following of the cluster log restarts'])
  second.etcd.loses = () => false
  await first.log.append(staged('d', 4), 3)
  await reached(4, second)
})

t.test('a watch that loses the last event: the node asks etcd for it', async (t) => {
  const { first, second } = await two(t)
  second.etcd.loses = () => true
  await first.log.append(staged('a', 1), 0)
  const asked = () => second.etcd.calls.filter(({ kind, key }) => kind === 'range' && key === GUARD).length
  const before = asked()
  second.probe()
  await when(() => asked() > before)
  for (let i = 0; i < 5; i++) await turn()
  t.equal(second.log.position, 0, 'it may be on its way')
  second.probe()
  await reached(1, second)
  t.same(second.said, ['following of the cluster log restarts'])
  const { length } = second.etcd.calls
  second.probe()
  await when(() => second.etcd.calls.length > length)
  for (let i = 0; i < 5; i++) await turn()
  second.etcd.fault = () => 'unreachable'
  second.probe()
  for (let i = 0; i < 5; i++) await turn()
  t.same([second.said.length, countOf(second.etcd, 'watch')], [1, 2], 'a complete watch is left alone')
})

t.test('an entry that no node could fold is refused before it is written', async (t) => {
  const { cluster, first } = await two(t)
  const header = { applyId: 'none', revision: 1, by: 'tester', at: '', comment: '' }
  await t.rejects(first.log.append({ op: 'promote', header }, 0), /nothing is frozen for the apply none/)
  t.same(await cluster.entries(), [])
})

t.test('a watch that ends is reopened after the last event', async (t) => {
  const { first, second } = await two(t)
  await first.log.append(staged('a', 1), 0)
  await reached(1, second)
  second.etcd.fault = () => 'unreachable'
  second.etcd.endWatches()
  await first.log.append(staged('b', 2), 1)
  await when(() => second.said.length > 3)
  t.equal(second.log.position, 1)
  second.etcd.fault = () => undefined
  await reached(2, second)
  second.etcd.endWatches()
  await first.log.append(staged('c', 3), 2)
  await reached(3, second)
  t.equal(second.folding.folds, 3)
})

t.test('a watch whose next revision is compacted reads the events that it missed', async (t) => {
  const { cluster, first, second } = await two(t)
  second.etcd.fault = () => 'unreachable'
  second.etcd.endWatches()
  for (let i = 0; i < 100; i++) await first.log.append(staged('a', i), i)
  cluster.etcd.compact(cluster.etcd.revision)
  second.etcd.fault = () => undefined
  await reached(100, second)
  await first.log.append(staged('a', 'last'), 100)
  await reached(101, second)
  t.equal(valueOn(second, 'a'), 'last')
})

t.test('progress is no event, and is not read again', async (t) => {
  const { cluster, first, second } = await two(t)
  await cluster.stranger.put('/elsewhere', 'x')
  second.etcd.progress()
  await first.log.append(staged('a', 1), 0)
  await reached(1, second)
  t.same(second.said, [])
})

t.test('a node that was away reads missed entries, in portions', async (t) => {
  const { first, second } = await two(t)
  await second.log.close()
  for (let i = 0; i < 150; i++) await first.log.append(staged('a', i), i)
  const before = countOf(second.etcd, 'range')
  const log = await second.again()
  t.equal(log.position, 150)
  t.equal(countOf(second.etcd, 'range') - before, 6, 'the guard and 64 entries each')
  t.equal(valueOn(second, 'a'), 149)
})

const EVERY = 5
const hasBase = async (cluster: MemoryCluster) => (await cluster.stranger.range({ key: BASE })).count === 1
/** Edits the store until the log has so many entries. */
async function fill(node: MemoryNode, position: number): Promise<void> {
  while (node.log.position < position) await node.store.write(staged(`k${node.log.position}`, node.log.position))
}

/** The same, with the digest of each checkpoint reported before anything else is written. */
async function fillTold(node: MemoryNode, position: number): Promise<void> {
  while (node.log.position < position) {
    await fill(node, node.log.position + 1)
    const at = node.log.position
    if (at % EVERY === 0) await reached(at + 1, node)
  }
}

t.test('a checkpoint is made, announced, compared, and old entries are deleted', async (t) => {
  const { cluster, first, second } = await two(t, { checkpointEvery: EVERY })
  const told: unknown[] = []
  const third = await cluster.node('node-3', {
    checkpointEvery: EVERY,
    onFolded: ({ node, entry }, position) => entry.op === 'compare' && told.push([node, entry.position, position]),
  })
  await fillTold(first, 13)
  await reached(13, second, third)
  t.match(told, [
    ['node-1', 5, Number],
    ['node-1', 10, Number],
  ])
  t.ok(await hasBase(cluster))
  await when(() => first.etcd.calls.filter(({ kind }) => kind === 'delete').length === 2)
  t.same((await cluster.entries())[0], 6)
  t.same(
    [first, second, third].map(({ log }) => log.halted),
    [undefined, undefined, undefined],
  )
})

t.test('a node far behind begins with the checkpoint, and continues with entries', async (t) => {
  const { first, second } = await two(t, { checkpointEvery: EVERY })
  await second.log.close()
  await fillTold(first, 23)
  const folds = second.folding.folds
  const log = await second.again()
  t.equal(log.position, first.log.position)
  t.ok(second.folding.folds - folds < 10)
  t.same(second.store.folding.records(), first.store.folding.records())
  await fillTold(first, 31)
  await when(() => log.position >= 31)
  t.equal(log.halted, undefined)
})

t.test('a node that follows and falls far behind takes the checkpoint over', async (t) => {
  const { cluster, first, second } = await two(t, { checkpointEvery: EVERY })
  second.etcd.fault = () => 'unreachable'
  second.etcd.endWatches()
  await fillTold(first, 23)
  cluster.etcd.compact(cluster.etcd.revision)
  second.etcd.fault = () => undefined
  await reached(first.log.position, second)
  t.same(second.store.folding.records(), first.store.folding.records())
})

t.test('entries are gone and there is no checkpoint', async (t) => {
  const { cluster, first, second } = await two(t)
  await second.log.close()
  await fill(first, 4)
  await cluster.stranger.delete({ from: logName(1), before: logName(3) })
  await t.rejects(second.again(), /entry 1 is missing/)
  t.same([second.folding.position, second.log.halted], [0, undefined])
})

t.test('a checkpoint that is not ahead of the store fills no gap', async (t) => {
  const { cluster, first, second } = await two(t, { checkpointEvery: EVERY })
  await fillTold(first, 8)
  await reached(8, second)
  await second.log.close()
  await fillTold(first, 9)
  const last = first.log.position
  await cluster.stranger.delete({ key: logName(9) })
  t.ok(last < 10)
  await t.rejects(second.again(), /entry 9 is missing/)
})

t.test('missing entries come late: a node that follows waits for them', async (t) => {
  const { cluster, first, second } = await two(t)
  await fill(first, 1)
  await reached(1, second)
  second.etcd.loses = () => true
  await fill(first, 2)
  const { kvs } = await cluster.stranger.range({ key: logName(2) })
  await cluster.stranger.delete({ key: logName(2) })
  await fill(first, 3)
  cluster.etcd.compact(cluster.etcd.revision)
  second.etcd.loses = () => false
  second.etcd.endWatches()
  await when(() => second.said.length > 3)
  t.same([second.log.position, second.log.halted], [1, undefined])
  await cluster.stranger.put(logName(2), kvs[0]?.value ?? '')
  await reached(3, second)
})

t.test('there is no cluster in this etcd', async (t) => {
  const { cluster, second } = await two(t)
  await second.log.close()
  await cluster.stranger.delete({ key: GUARD })
  await t.rejects(second.again(), /there is no cluster in this etcd/)
})

/** Asserts that it stays at this position, and accepts no edits. */
async function halts(t: Test, node: MemoryNode, position: number, why: RegExp): Promise<void> {
  await when(() => node.log.halted !== undefined)
  t.match(node.log.halted, why)
  t.equal(node.log.position, position)
  t.ok(node.said.includes('this node no longer follows the cluster'))
  refusedFor(t, await refusal(node.store.write(staged('late', 1))), why)
  t.equal(valueOn(node, 'late'), undefined)
  await node.log.close()
}

t.test('a log that ends before the last entry folded here', async (t) => {
  const { cluster, first, second } = await two(t)
  await fill(first, 3)
  await reached(3, second)
  await cluster.guard(2)
  await cluster.stranger.delete({ key: logName(3) })
  second.etcd.endWatches()
  await halts(t, second, 3, /the cluster's log ends at 2, but this node has already applied 3/)
  await first.log.close()
  const log = await first.again()
  t.match(log.halted, /ends at 2/, 'a start notices it as well')
})

t.test('entries that a forced etcd has dropped are written again before a history continues', async (t) => {
  const { cluster, first, second } = await two(t)
  await fill(first, 3)
  await reached(3, second)
  await Promise.all([first.log.close(), second.log.close()])
  await cluster.guard(2)
  await cluster.stranger.delete({ key: logName(3) })
  let isTakingOver = true
  const alone = { isTakingOver: () => isTakingOver }
  t.match(
    await first.again(alone).catch(String),
    /ends at 2, but this node has already applied 3/,
    'nothing is halted meanwhile',
  )
  const log = first.begin(alone)
  const takeover = { id: 'x', nodeId: 'node-1', epoch: 2, at: '', by: 'somebody', reason: 'gone' }
  await log.takeOver(takeover)
  isTakingOver = false
  t.equal(log.halted, undefined)
  t.same(await cluster.entries(), [1, 2, 4])
  t.equal(log.position, 4)
  const third = await cluster.node('node-3')
  t.same([third.log.position, third.log.halted], [4, undefined])
  t.same(third.store.folding.snapshot().candidate, first.store.folding.snapshot().candidate)
})

t.test('an entry of another version', async (t) => {
  const { cluster, first, second } = await two(t)
  await fill(first, 1)
  const newer = { ...envelopeOf('x', 'node-9', '', { op: 'thaw', applyId: 'a' }), v: 2 }
  await cluster.writeRaw(2, newer)
  for (const node of [first, second]) await halts(t, node, 1, /entry 2 .*applied on this node: it has version 2/)
})

t.test('an unknown operation, and later entries', async (t) => {
  const { cluster, first } = await two(t)
  const { entry, ...rest } = envelopeOf('x', 'node-9', '', { op: 'thaw', applyId: 'a' })
  await cluster.writeRaw(1, Buffer.from(JSON.stringify({ ...rest, entry: { ...entry, op: 'merge' } })))
  await cluster.writeRaw(2, envelopeOf('y', 'node-9', '', staged('a', 1)))
  await halts(t, first, 0, /entry 1 .*does not know the operation merge/)
  t.equal(valueOn(first, 'a'), undefined)
})

t.test('a sealed value that was moved to another number', async (t) => {
  const { cluster, first, second } = await two(t)
  await fill(first, 1)
  await reached(1, second)
  const { kvs } = await cluster.stranger.range({ key: logName(1) })
  await cluster.writeSealed(2, kvs[0]?.value ?? Buffer.alloc(0))
  for (const node of [first, second]) await halts(t, node, 1, /entry 2 .*was modified, or belongs to another place/)
})

t.test('an entry under a missing key halts a node, and a removed node says so', async (t) => {
  const cluster = await MemoryCluster.form(t)
  const lacking = await cluster.node('node-1')
  const lockedOut = () => 'it was removed from the cluster'
  const [removed, damaged] = [
    await cluster.node('node-2', { lockedOut }),
    await cluster.node('node-3', { lockedOut, keys: new ClusterKeys('cluster-2', [NEXT_KEY]) }),
  ]
  const values = new LargeValues(cluster.stranger, new ClusterKeys('cluster-1', [NEXT_KEY]))
  const bytes = encodeEnvelope(envelopeOf('x', 'node-9', '', staged('a', 1)))
  await cluster.writeSealed(1, await values.sealed(logName(1), bytes, 1, 'x'))
  await halts(t, lacking, 0, /entry 1 .*was sealed with a key that this node does not have/)
  await halts(t, removed, 0, /it was removed from the cluster$/)
  await halts(t, damaged, 0, /entry 1 .*was modified, or belongs to another place/)
})

/** Makes a store differ from its log. */
async function spoil({ store, folding }: MemoryNode): Promise<void> {
  const state = folding.snapshot()
  const candidate = state.candidate.map((change) => ({ ...change, stored: { value: 'spoilt', revision: 1 } }))
  await store.folding.replace({ ...state, candidate }, folding.position)
}

t.test('a node that differs from the writer of a checkpoint halts, and no other', async (t) => {
  const { cluster, first, second } = await two(t, { checkpointEvery: EVERY })
  const third = await cluster.node('node-3', { checkpointEvery: EVERY })
  await fill(first, 2)
  await reached(2, second, third)
  await spoil(second)
  await fillTold(first, 8)
  await when(() => second.log.halted !== undefined)
  await halts(t, second, second.log.position, /after entry 5 the state of this node differs from that of node-1/)
  await reached(8, third)
  t.same([first.log.halted, third.log.halted], [undefined, undefined])
})

t.test('a differing node is halted by the next start as well, with the reason', async (t) => {
  const { first, second } = await two(t, { checkpointEvery: EVERY })
  await second.log.close()
  let why: string | undefined
  const keep = async (told: string) => void (why = told)
  const log = await second.again({ checkpointEvery: EVERY, keptHalt: { why, keep } })
  await fill(first, 2)
  await reached(2, second)
  await spoil(second)
  await fillTold(first, 8)
  await when(() => why !== undefined)
  t.equal(log.halted, why)
  const [halted, position] = [why, log.position]
  await log.close()
  await fillTold(first, 9)
  const next = await second.again({ checkpointEvery: EVERY, keptHalt: { why, keep } })
  t.same([next.halted, next.position], [halted, position], 'it follows nothing')
  t.match(halted, /after entry 5 the state of this node differs from that of node-1/)
  await next.caughtUp
  refusedFor(t, await refusal(second.store.write(staged('late', 1))), /differs from that of node-1/)
})

t.test('where the reason cannot be stored the node is halted all the same', async (t) => {
  const { first, second } = await two(t, { checkpointEvery: EVERY })
  await second.log.close()
  const keptHalt = { why: undefined, keep: () => Promise.reject(new Error('no room')) }
  const log = await second.again({ checkpointEvery: EVERY, keptHalt })
  await fill(first, 2)
  await reached(2, second)
  await spoil(second)
  await fillTold(first, 8)
  await when(() => log.halted !== undefined)
  t.match(log.halted, /differs from that of node-1/)
  await when(() => second.said.includes('a restart of the daemon would follow the cluster again'))
})

t.test('an entry that is written while its node halts is in force, and is reported as such', async (t) => {
  const cluster = await MemoryCluster.form(t)
  const first = await cluster.node('node-1', { checkpointEvery: EVERY })
  let written: Promise<unknown> | undefined
  const second: MemoryNode = await cluster.node('node-2', {
    checkpointEvery: EVERY,
    onFolded: ({ entry }, position) => {
      // At the moment before it compares.
      if (entry.op === 'compare') written = refusal(second.log.append(staged('mine', 1), position))
    },
  })
  await fill(first, 2)
  await reached(2, second)
  await spoil(second)
  // Its digest follows automatically, and no other node writes.
  await fill(first, EVERY)
  await when(() => written !== undefined)
  const found = await written
  t.match(second.log.halted, /differs from that of node-1/)
  refusedFor(t, found, /The change was written and is in effect\. .*differs from that of node-1/)
  await when(() => valueOn(first, 'mine') === 1)
  t.equal(valueOn(second, 'mine'), undefined)
})

t.test('no checkpoint can be written: this is reported, and the log continues', async (t) => {
  const { cluster, first } = await two(t, { checkpointEvery: EVERY })
  first.etcd.fault = ({ key }) => (key === BASE ? 'unreachable' : undefined)
  await fill(first, 7)
  await when(() => first.said.includes('no checkpoint could be created'))
  t.notOk(await hasBase(cluster))
  first.etcd.fault = () => undefined
  await fill(first, 11)
  await when(() => first.etcd.calls.some(({ kind }) => kind === 'delete'))
  t.ok(await hasBase(cluster))
})

t.test('the disk is full for a while: the node waits, and nothing is lost', async (t) => {
  const { first, second } = await two(t)
  first.folding.failures = 3
  second.folding.failures = 5
  await first.log.append(staged('a', 1), 0)
  await first.log.append(staged('b', 2), 1)
  await reached(2, second)
  t.same([valueOn(first, 'a'), valueOn(second, 'a'), valueOn(second, 'b')], [1, 1, 2])
  t.same([first.folding.folds, second.folding.folds], [5, 7])
  t.same(
    first.said,
    Array.from({ length: 3 }, () => 'an entry of the cluster log could not be stored; this is retried'),
  )
})

t.test('a listener for entries that throws delays no other', async (t) => {
  const { cluster, first } = await two(t)
  let isBroken = true
  const third = await cluster.node('node-3', {
    onFolded: () => {
      if (isBroken) throw new Error('a defect')
    },
  })
  await first.log.append(staged('a', 1), 0)
  await when(() => third.said.length > 0)
  isBroken = false
  await first.log.append(staged('b', 1), 1)
  await reached(2, third)
  t.equal(third.folding.folds, 2)
})

t.test('closing ends waits', async (t) => {
  const { cluster, first } = await two(t, { checkpointEvery: EVERY })
  await t.test('for room on the disk, and stores no checkpoint of missing entries', async (t) => {
    const full = await cluster.node('full', { checkpointEvery: EVERY, pause: untilClosed })
    await fill(full, EVERY - 1)
    full.folding.failures = Infinity
    const written = refusal(full.log.append(staged('last', 1), EVERY - 1))
    await when(() => full.said.length > 0)
    await full.log.close()
    refusedFor(t, await written, /The change was written and is in effect\. .*it is being closed/)
    t.equal(full.log.position, EVERY - 1)
    t.notOk(await hasBase(cluster))
    full.folding.failures = 0
    const log = await full.again()
    t.same([log.position, valueOn(full, 'last')], [EVERY, 1], 'the next start folds it')
  })
  await t.test('for room, while it catches up', async (t) => {
    const full = await cluster.node('reading', { pause: untilClosed })
    full.etcd.loses = () => true
    await fill(first, first.log.position + 2)
    full.folding.failures = Infinity
    // The pause after the end of the watch would not end, so an edit reveals the gap.
    const lost = refusal(full.log.append(staged('x', 1), full.log.position))
    await when(() => full.said.length > 0)
    await full.log.close()
    t.ok((await lost) instanceof LostRaceError)
  })
  await t.test('for etcd, to write', async (t) => {
    const cut = await cluster.node('cut', { pause: untilClosed })
    cut.etcd.fault = () => 'unreachable'
    const written = refusal(cut.log.append(staged('x', 1), cut.log.position))
    await when(() => countOf(cut.etcd, 'transact') === 1)
    await cut.log.close()
    refusedFor(t, await written, /Nothing was changed/)
  })
  await t.test('for etcd, to follow', async (t) => {
    const cut = await cluster.node('following', { pause: untilClosed })
    cut.etcd.fault = () => 'unreachable'
    cut.etcd.endWatches()
    await when(() => cut.said.length > 0)
    await cut.log.close()
    t.same(cut.said, ['following of the cluster log restarts'])
  })
  await t.test('for etcd, to announce a checkpoint', async (t) => {
    const cut = await cluster.node('telling', { checkpointEvery: 1, pause: untilClosed })
    const isTelling = () => countOf(cut.etcd, 'transact') > 2
    cut.etcd.fault = ({ kind, key }) => (kind === 'transact' && key !== BASE && isTelling() ? 'unreachable' : undefined)
    await cut.log.append(staged('x', 1), cut.log.position)
    await when(isTelling)
    await cut.log.close()
    t.same(cut.said, ['a change could not be written to the log of the cluster', 'no checkpoint could be created'])
  })
  await t.test('for events, and while the watch is being opened', async (t) => {
    const idle = await cluster.node('idle')
    await idle.log.close()
    const { opened, open } = gate()
    const opening = await cluster.node('opening')
    opening.etcd.fault = ({ kind }) => (kind === 'watch' ? opened : undefined)
    opening.etcd.endWatches()
    await when(() => countOf(opening.etcd, 'watch') === 2)
    const closed = opening.log.close()
    open()
    await closed
    const position = opening.log.position
    await fill(first, first.log.position + 1)
    t.equal(opening.log.position, position)
  })
})

t.test('a closed log accepts no entries', async (t) => {
  const { cluster, first } = await two(t)
  await first.log.close()
  refusedFor(t, await refusal(first.log.append(staged('a', 1), 0)), /Nothing was changed\. .*it is being closed/)
  t.same(await cluster.entries(), [])
})

t.test('it begins without etcd, which is read as soon as it answers', async (t) => {
  const { first, second } = await two(t)
  await second.log.close()
  await first.log.append(staged('a', 1), 0)
  let isAway = true
  second.etcd.fault = () => (isAway ? 'unreachable' : undefined)
  const log = second.begin()
  refusedFor(t, await refusal(second.store.sessions.put('s', 1)), /Too few nodes/)
  t.same([log.position, valueOn(second, 'a')], [0, undefined])
  isAway = false
  await log.caughtUp
  t.same([log.position, valueOn(second, 'a')], [1, 1])
  await second.store.sessions.put('s', 1)
  t.equal(log.position, 2)
})
