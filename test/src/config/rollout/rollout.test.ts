import t, { type Test } from 'tap'
import { refuses } from '../../../fixtures/config.ts'
import { RolloutNodes } from '../../../fixtures/rollout.ts'

t.test('an apply reaches every node, and all have the same revision', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const a = nodes.node('a')
  await a.add('one')
  const applied = await a.apply()
  test.same(
    applied?.nodes?.map(({ nodeId, ok, state }) => [nodeId, ok, state]),
    [
      ['a', true, 'applied'],
      ['b', true, 'applied'],
      ['c', true, 'applied'],
    ],
  )
  test.equal(await nodes.settled(), 'one')
  for (const { store, promoted, told } of nodes.all) {
    test.equal(store.revision, 1)
    test.same(store.changes(), [])
    test.match(promoted, [{ section: 'realServers', id: 'one', before: undefined }], 'reported once')
    test.match(told, [{ state: 'applied', by: 'tester', revision: 1 }])
    test.equal(told.length, 1)
  }
})

t.test('a problem of one node changes nothing anywhere, and names the node', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const [a, b] = [nodes.node('a'), nodes.node('b')]
  await a.add('one')
  b.problems = [{ section: 'realServers', id: 'one', field: 'ip', message: 'not here' }]
  const error = await refuses(test, 'CONFIG_INVALID', a.apply())
  test.match(error.details, {
    data: { problems: [{ nodeId: 'b', id: 'one' }] },
    errors: [{ field: 'realServers.one.ip' }],
  })
  test.match(error.message, /node b/)
  test.equal(await nodes.settled(), '')
  for (const { store, files } of nodes.all) {
    test.equal(store.revision, 0)
    test.equal(store.changes().length, 1)
    test.equal(files.size, 2, 'only the earlier ones')
  }
})

t.test('a program on one node refuses: nothing is changed anywhere', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const [a, c] = [nodes.node('a'), nodes.node('c')]
  await a.add('one')
  c.failures.push('check')
  const error = await refuses(test, 'CONFIG_INVALID', a.apply())
  test.match(error.details, { data: { problems: [{ nodeId: 'c' }], output: 'no check' } })
  test.equal(await nodes.settled(), '')
})

t.test('a node that goes away while it prepares ends the apply', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const a = nodes.node('a')
  await a.add('one')
  a.fault = (id) => (id === 'c' ? 'lost after' : undefined)
  const error = await refuses(test, 'NODE_UNREACHABLE', a.apply())
  test.match(error.message, /node c/)
  test.equal(await nodes.settled(), '')
  a.fault = () => undefined
  await a.apply()
  test.equal(await nodes.settled(), 'one', 'pending changes still are')
})

t.test('a missing node is no failure, and follows when it is back', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const [a, b, c] = [nodes.node('a'), nodes.node('b'), nodes.node('c')]
  await a.add('one')
  b.stop()
  c.isCut = true
  const applied = await a.apply()
  test.same(
    applied?.nodes?.map(({ nodeId, state }) => [nodeId, state]),
    [
      ['a', 'applied'],
      ['b', 'missed'],
      ['c', 'missed'],
    ],
  )
  test.same(applied?.warnings, [
    'node b is unreachable; it catches up when it is back',
    'node c is unreachable; it catches up when it is back',
  ])
  test.equal(await nodes.settled(), 'one')
  test.equal(c.machine, 'one', 'it read the log although it was unreachable')
  test.match(c.promoted, [{ id: 'one' }])
  await b.start()
  test.equal(b.machine, 'one')
})

for (const failing of ['a', 'b']) {
  t.test(`${failing} fails to enact: all revert it, and the outcome of each is reported`, async (test) => {
    const nodes = await RolloutNodes.form(test)
    const a = nodes.node('a')
    await a.add('one')
    nodes.node(failing).failures.push('replaceFile')
    const error = await refuses(test, 'APPLY_PARTIAL', a.apply())
    const states = ['a', 'b', 'c'].map((nodeId) =>
      nodeId === failing
        ? { nodeId, ok: false, state: 'failed', why: 'write it', output: 'no replaceFile' }
        : { nodeId, ok: false, state: 'takenBack' },
    )
    test.match(error.details.data, { nodes: states })
    test.equal(await nodes.settled(), '')
    test.match(a.told, [{ state: 'refused' }])
  })
}

t.test('a node that vanishes while it enacts: all revert it, its state is unknown', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const [a, b] = [nodes.node('a'), nodes.node('b')]
  await a.add('one')
  a.fault = (id, { ask }) => {
    if (id === 'b' && ask === 'enact') b.isCut = true
    return undefined
  }
  const error = await refuses(test, 'APPLY_PARTIAL', a.apply())
  test.match(error.details.data, {
    nodes: [{ state: 'takenBack' }, { nodeId: 'b', state: 'unknown' }, { state: 'takenBack' }],
  })
  test.equal(await nodes.settled(), '')
})

t.test("a lost answer: the node's changes are reverted", async (test) => {
  const nodes = await RolloutNodes.form(test)
  const a = nodes.node('a')
  await a.add('one')
  a.fault = (id, { ask }) => (id === 'b' && ask === 'enact' ? 'lost after' : undefined)
  const error = await refuses(test, 'APPLY_PARTIAL', a.apply())
  test.match(error.details.data, { nodes: [{}, { nodeId: 'b', state: 'takenBack' }, {}] })
  test.equal(await nodes.settled(), '')
})

t.test('the asked node enacts last', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const [a, b] = [nodes.node('a'), nodes.node('b')]
  await a.add('one')
  const others: string[] = []
  a.executed = async () => others.push(b.machine, nodes.node('c').machine)
  await a.apply()
  test.same(others, ['one', 'one'])
  await a.add('two')
  b.failures.push('replaceFile')
  await refuses(test, 'APPLY_PARTIAL', a.apply())
  test.equal(await nodes.settled(), 'one', 'those that have enacted revert')
})

t.test('of two nodes that apply at once one is refused, and learns who was first', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const [a, b] = [nodes.node('a'), nodes.node('b')]
  await a.add('one')
  const [first, second] = await Promise.allSettled([a.apply(), b.apply()])
  const refused = [first, second].filter(({ status }) => status === 'rejected')
  test.equal(refused.length, 1)
  test.match(refused, [{ reason: { code: 'APPLY_IN_PROGRESS', message: /by tester on node [ab]/ } }])
  test.equal(await nodes.settled(), 'one')
})

t.test('while another node applies, nothing else is done to this machine, and the state says so', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const [a, b] = [nodes.node('a'), nodes.node('b')]
  await a.add('one')
  let go = () => undefined as void
  const until = new Promise<void>((resolve) => (go = resolve))
  const reached = new Promise<void>((resolve) => {
    a.fault = (id, { ask }) => {
      if (ask !== 'enact' || id !== 'c') return undefined
      resolve()
      return until
    }
  })
  const applying = a.apply()
  await reached
  await refuses(test, 'APPLY_IN_PROGRESS', b.engine.run([]))
  test.equal(b.engine.state.state, 'applying')
  test.ok(b.engine.isUnsettled, 'it has, or is about to have, a configuration that is not running yet')
  await b.engine.converge(() => true)
  test.equal(b.machine, 'one', 'supervision of programs does not revert it')
  go()
  await applying
  test.equal(await nodes.settled(), 'one')
  test.notOk(b.engine.isUnsettled)
  await b.engine.run([])
})

/** One change is applied, and `two` is pending. */
async function begun(test: Test) {
  const nodes = await RolloutNodes.form(test)
  const a = nodes.node('a')
  await a.add('one')
  await a.apply()
  await nodes.settled()
  await a.add('two')
  await nodes.settled()
  return nodes
}

for (const killed of ['a', 'b']) {
  const role = killed === 'a' ? 'the node that leads' : 'a node that was asked'
  t.test(`${role} is killed at any point: afterwards all are as before, or all are new`, async (test) => {
    const seen = new Set<string>()
    let [points, isKilled] = [0, true]
    while (isKilled) {
      points += 1
      const nodes = await begun(test)
      const [a, victim] = [nodes.node('a'), nodes.node(killed)]
      victim.stopAt = victim.points + points
      const answered = await a.apply().then(
        (applied) => applied && 'one two',
        () => 'one',
      )
      isKilled = !victim.isUp
      victim.stopAt = Infinity
      const others = await nodes.settled()
      if (isKilled) await victim.start()
      const all = await nodes.settled()
      test.equal(all, others, `killed at point ${points}: the others decided for it`)
      if (answered !== undefined) test.equal(all, answered, 'and the answer holds')
      test.same(new Set(nodes.all.map(({ running }) => running)), new Set([all]))
      seen.add(all)
      // They continue as if nothing had happened.
      await nodes.node('c').add('three')
      await nodes.node('c').apply()
      test.match(await nodes.settled(), /three/)
    }
    test.ok(points > 8, `there are ${points - 1} points`)
    test.same(seen, new Set(['one', 'one two']), 'both have happened')
  })

  t.test(`${role} is killed and back before any node has noticed`, async (test) => {
    for (let [points, isKilled] = [1, true]; isKilled; points++) {
      const nodes = await begun(test)
      const [a, victim] = [nodes.node('a'), nodes.node(killed)]
      victim.stopAt = victim.points + points
      await a.apply().catch(() => undefined)
      isKilled = !victim.isUp
      victim.stopAt = Infinity
      if (isKilled) await victim.start()
      const all = await nodes.settled()
      test.ok(['one', 'one two'].includes(all), `killed at point ${points}`)
    }
  })
}

t.test('all are killed at once, at any point', async (test) => {
  for (let [points, isKilled] = [1, true]; isKilled; points++) {
    const nodes = await begun(test)
    const a = nodes.node('a')
    a.stopAt = a.points + points
    await a.apply().catch(() => undefined)
    isKilled = !a.isUp
    a.stopAt = Infinity
    for (const node of nodes.all) node.stop()
    // The asked ones are back first.
    for (const node of nodes.all.toReversed()) await node.start()
    const all = await nodes.settled()
    test.ok(['one', 'one two'].includes(all), `killed at point ${points}`)
  }
})

t.test('one node alone: it runs the change, the others do not, and the next apply on all unites them', async (test) => {
  const nodes = await RolloutNodes.form(test)
  const [a, b, c] = [nodes.node('a'), nodes.node('b'), nodes.node('c')]
  await a.add('one')
  await a.apply()
  await a.add('two')
  await nodes.settled()
  const asked: string[] = []
  b.fault = (id) => void asked.push(id)
  const { revision, nodes: outcomes } = (await b.apply({ onlyHere: true })) ?? {}
  test.match({ revision, outcomes }, { revision: 1, outcomes: [{ nodeId: 'b', state: 'applied' }] })
  test.same(asked, [], 'no other was asked')
  await nodes.settled()
  test.same([a.machine, b.machine, c.machine], ['one', 'one two', 'one'])
  test.match(b.told.at(-1), { state: 'applied', revision: 1, changes: 1, onlyOn: 'b' })
  test.equal((await b.apply({ onlyHere: true }))?.live, undefined, 'there is nothing left to do here')

  test.comment('others apply something else meanwhile, and it restarts')
  await c.add('three')
  const three = c.store.changes().find(({ key }) => key === 'three')?.id
  await c.engine.apply({ force: undefined, changes: [three ?? ''] }, { by: 'tester', address: undefined })
  await nodes.settled()
  test.same([a.machine, b.machine], ['one three', 'one three two'])
  b.stop()
  await b.start()
  await nodes.settled()
  test.equal(b.machine, 'one three two')
  await c.apply()
  test.equal(await nodes.settled(), 'one three two')
  test.equal(a.machine, b.machine)
  test.same(a.store.aheadOn('b'), [])
})

t.test('one node alone: killed at every point, it runs the old or the new, and no other is touched', async (test) => {
  const once = async (stopAt: number): Promise<number> => {
    const nodes = await RolloutNodes.form(test, ['a', 'b'])
    const [a, b] = [nodes.node('a'), nodes.node('b')]
    await a.add('one')
    await nodes.settled()
    const before = b.points
    b.stopAt = before + stopAt
    await b.apply({ onlyHere: true })
    const passed = b.points - before
    b.stopAt = Infinity
    if (!b.isUp) await b.start()
    await nodes.settled()
    test.equal(a.machine, '')
    const isAhead = b.store.aheadOn('b').length === 1
    test.equal(b.machine, isAhead ? 'one' : '', `killed at ${stopAt}`)
    test.match(a.store.changes(), [{ key: 'one' }], 'pending for the others')
    await a.apply()
    test.equal(await nodes.settled(), 'one')
    return passed
  }
  const points = await once(Infinity)
  test.ok(points > 5)
  for (let stopAt = 1; stopAt <= points; stopAt++) await once(stopAt)
})
