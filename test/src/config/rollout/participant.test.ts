import t from 'tap'
import { AWAY_MS_MAX } from '../../../../src/config/rollout/participant.ts'
import { turn } from '../../../../src/base/turns.ts'
import { when } from '../../../fixtures/cluster-in-memory.ts'
import { ANYTHING, refusalOf, refuses } from '../../../fixtures/config.ts'
import { type RolloutNode, RolloutNodes } from '../../../fixtures/rollout.ts'

/** Others have enacted it; the leading node is killed before it decides. */
async function leaderless(nodes: RolloutNodes): Promise<void> {
  const a = nodes.node('a')
  await a.add('one')
  a.fault = (id, { ask }) => (id === 'c' && ask === 'enact' ? killed(a, nodes.node('b')) : undefined)
  await a.apply()
}

async function killed(leader: RolloutNode, other: RolloutNode): Promise<void> {
  await when(() => other.machine === 'one' && !other.engine.busy)
  leader.stop()
}

t.test('others end an apply when its leading node has been away for long enough', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const b = nodes.node('b')
  await leaderless(nodes)
  for (let away_ms = 0; away_ms < AWAY_MS_MAX; away_ms += 1_000) {
    await b.look()
    test.not(b.store.underWay(), undefined, 'not at once')
    test.equal(b.machine, 'one', 'and until then it stays as it is')
  }
  await b.look()
  test.equal(b.store.underWay(), undefined)
  test.equal(await nodes.settled(), '')
})

t.test('a promotion after an end is refused, and the leading node reverts it', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const [a, b] = [nodes.node('a'), nodes.node('b')]
  await a.add('one')
  a.fault = (_, { ask, applyId }) => (ask === 'enact' ? b.store.write({ op: 'thaw', applyId }) : undefined)
  const error = await refusalOf(a.apply())
  test.equal(error.code, 'APPLY_PARTIAL')
  a.fault = () => undefined
  test.equal(await nodes.settled(), '')
  await a.apply()
  test.equal(await nodes.settled(), 'one')
})

t.test('the end comes between the last node and the promotion', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const [a, b] = [nodes.node('a'), nodes.node('b')]
  await a.add('one')
  let applyId = ''
  a.fault = (_, question) => {
    applyId = question.applyId
    return undefined
  }
  // The last node has enacted, and only then another one ends it.
  const { engine } = a
  a.executed = async () => {
    a.executed = () => Promise.resolve()
    await b.store.write({ op: 'thaw', applyId })
  }
  await refuses(test, 'APPLY_PARTIAL', a.apply())
  test.not(applyId, '')
  test.equal(await nodes.settled(), '')
  test.equal(engine.state.state, 'idle')
})

t.test('the log cannot be written for the promotion: everything stays until it can', async (test) => {
  for (const fault of ['unreachable', 'lost after'] as const) {
    const nodes = await RolloutNodes.form(test)
    const [a, b] = [nodes.node('a'), nodes.node('b')]
    await a.add('one')
    a.fault = (_, { ask }) => {
      if (ask === 'enact') a.etcd.fault = ({ kind }) => (kind === 'transact' ? fault : undefined)
      return undefined
    }
    const answer = await a.apply().then(
      () => 'applied',
      ({ code }) => code,
    )
    a.etcd.fault = () => undefined
    test.equal(answer, 'NO_QUORUM')
    if (fault === 'unreachable') {
      test.match([a.machine, b.machine], ['one', 'one'], 'as enacted')
      await a.engine.converge(() => true)
      test.equal(a.machine, 'one', 'supervision of programs does not decide')
      test.equal(await nodes.settled(), '', 'its leader ends it')
    } else test.equal(await nodes.settled(), 'one', 'it was written after all')
  }
})

t.test('a node without the log stays as it is, and follows once it has the log', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const [a, b] = [nodes.node('a'), nodes.node('b')]
  await a.add('one')
  await nodes.settled()
  a.fault = (id, { ask }) => {
    if (id === 'b' && ask === 'enact') b.etcd.holdWatches()
    return undefined
  }
  await a.apply()
  test.equal(b.store.revision, 0)
  for (let looks = 0; looks < 10; looks++) await b.look()
  test.equal(b.machine, 'one')
  b.etcd.releaseWatches()
  test.equal(await nodes.settled(), 'one')
})

t.test('a waiting apply is confirmed on any node, once', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const [a, b, c] = [nodes.node('a'), nodes.node('b'), nodes.node('c')]
  await a.add('one')
  await a.apply({ confirmWithin: 30 })
  await nodes.settled()
  test.equal(b.engine.state.state, 'waiting')
  await refuses(test, 'APPLY_IN_PROGRESS', c.apply())
  await b.engine.confirm()
  await nodes.settled()
  await refuses(test, 'NOT_FOUND', a.engine.confirm())
  for (let looks = 0; looks < 40; looks++) for (const node of nodes.all) await node.look()
  test.equal(await nodes.settled(), 'one')
})

t.test('an unconfirmed apply is reverted once, by the first node, by its own clock', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const [a, b] = [nodes.node('a'), nodes.node('b')]
  await a.add('one')
  await a.apply()
  await nodes.settled()
  await a.add('two')
  await a.apply({ confirmWithin: 30 })
  await nodes.settled()
  test.ok((b.engine.state.secondsLeft ?? 0) > 20, 'counted here from when it was learned')
  // The leading node is gone for good: others revert it.
  a.stop()
  b.clock.advance(60_000)
  nodes.node('c').clock.advance(60_000)
  await b.look()
  test.equal(await nodes.settled(), 'one')
  test.match(b.store.revisions(1), [{ revision: 3, by: 'fulcrum' }])
  test.match(b.store.changes(), [{ key: 'two' }], 'and pending again')
  await a.start()
  test.equal(await nodes.settled(), 'one')
  test.equal(a.store.revision, 3)
})

t.test('without a quorum at the deadline a machine reverts alone, and later follows the log', async (test) => {
  for (const isConfirmed of [true, false]) {
    const nodes = await RolloutNodes.form(test)
    const [a, b, c] = [nodes.node('a'), nodes.node('b'), nodes.node('c')]
    await a.add('one')
    await a.apply()
    await a.add('two')
    await a.apply({ confirmWithin: 30 })
    test.equal(await nodes.settled(), 'one two')
    c.etcd.fault = () => 'unreachable'
    c.etcd.holdWatches()
    c.clock.advance(60_000)
    for (let looks = 0; looks < 3; looks++) {
      await c.look()
      test.equal(c.machine, 'one')
      c.clock.advance(10_000)
    }
    test.match(c.store.unconfirmed(), { revision: 2 }, 'no other node was told')
    test.match(c.engine.state, { state: 'waiting', revision: 2, secondsLeft: 0 })
    test.match(c.engine.here, { state: 'waiting', revision: 1 }, 'this is what its machine runs')
    await test.rejects(c.apply(), { message: /^Revision 2 was not confirmed by \S+ and is being reverted; / })
    if (isConfirmed) await b.engine.confirm()
    c.etcd.fault = () => undefined
    c.etcd.releaseWatches()
    c.clock.advance(10_000)
    test.equal(await nodes.settled(), isConfirmed ? 'one two' : 'one')
    test.equal(c.store.journal(), undefined)
    test.equal(c.engine.here.revision, isConfirmed ? 2 : 3)
  }
})

t.test('of two that revert it at once one does', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const [a, b, c] = [nodes.node('a'), nodes.node('b'), nodes.node('c')]
  await a.add('one')
  await a.apply({ confirmWithin: 30 })
  await nodes.settled()
  const waits = c.store.unconfirmed()
  if (waits === undefined) throw new Error('nothing waits')
  const asked = [
    a.engine.revert(waits),
    b.engine.revertNow({ by: 'somebody', may: ANYTHING }).catch(() => undefined),
    c.engine.confirm().catch(() => undefined),
  ]
  const done = await Promise.all(asked)
  test.equal(done.filter((one) => one !== undefined).length, 1)
  const all = await nodes.settled()
  test.equal(all, c.store.revision === 1 ? 'one' : '')
})

t.test('a restarted node on a restarted machine has not confirmed', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const [a, b] = [nodes.node('a'), nodes.node('b')]
  await a.add('one')
  await a.apply({ confirmWithin: 600 })
  await nodes.settled()
  b.stop()
  await b.start()
  await b.look()
  test.equal(b.engine.state.state, 'waiting', 'the daemon alone makes no difference')
  b.stop()
  b.clock.bootId = 'another boot of b'
  await b.start()
  await b.look()
  test.equal(await nodes.settled(), '')
})

t.test('accounts are changed when no apply runs anywhere', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const [a, b] = [nodes.node('a'), nodes.node('b')]
  await a.add('one')
  let isIdle = false
  let idle: Promise<void> = Promise.resolve()
  a.fault = (id, { ask }) => {
    if (id !== 'c' || ask !== 'enact') return undefined
    idle = b.engine.idle().then(() => {
      isIdle = true
    })
    return turn().then(() => {
      test.notOk(isIdle)
    })
  }
  await a.apply()
  await idle
  test.ok(isIdle)
})

t.test('a node that takes a checkpoint over catches up', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const [a, b] = [nodes.node('a'), nodes.node('b')]
  await a.add('one')
  await nodes.settled()
  b.isCut = true
  await a.apply()
  await a.add('two')
  await a.apply()
  await nodes.settled([a])
  const { folding } = b.store
  await folding.replace(a.store.folding.snapshot(), folding.position)
  await b.look()
  test.equal(b.machine, 'one two')
  test.match(b.told.at(-1), { state: 'followed', revision: 2 })
  test.notOk(a.told.some(({ state }) => state === 'followed'))
})
