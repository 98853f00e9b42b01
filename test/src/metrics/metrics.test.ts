import { readFileSync } from 'node:fs'
import t from 'tap'
import { FAMILIES, Metrics } from '../../../src/metrics/metrics.ts'
import type { Family } from '../../../src/exposition/family.ts'
import type { NodeFigures } from '../../../src/metrics/node-samples.ts'
import { LiveAnswers } from '../../../src/stats/live.ts'
import { sampleName } from '../../../src/exposition/family.ts'
import { expositionPool } from '../../../src/threads/worker-pool.ts'
import { tickOf } from '../../fixtures/live-tick.ts'
import { STILL } from '../../fixtures/metrics.ts'
import { namesOf } from '../stats/names-fixture.ts'

function fixture(node: () => Promise<NodeFigures>) {
  const names = namesOf([], [])
  const state = { now_ms: 0 }
  const live = { hasFigures: false, figure: () => undefined, realsUp: () => undefined, healthIn: () => 'up' as const }
  const metrics = new Metrics({
    layer7: { live: new LiveAnswers(names, 'n'), names },
    layer4: { live, names },
    node,
    clock: { monotonic_ms: () => state.now_ms },
  })
  return { metrics, state }
}

t.test('made at most once a second in each format, for any number of clients', async (test) => {
  let made = 0
  const { metrics, state } = fixture(async () => {
    made++
    return { ...STILL, pending: made }
  })
  const [one, two] = await Promise.all([metrics.answer(''), metrics.answer('text/plain')])
  test.equal(one, two)
  test.equal(one, await metrics.answer('*/*'))
  test.equal(made, 1)
  const other = await metrics.answer('application/openmetrics-text')
  test.equal(made, 2)
  test.match(other, {
    contentType: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
    cacheControl: 'no-store',
    vary: 'Accept, Accept-Encoding',
  })
  test.match(one, { contentType: 'text/plain; version=0.0.4; charset=utf-8' })
  test.match(other.body.toString(), /fulcrum_pending_changes 2\n[^]*# EOF\n$/)
  state.now_ms = 1_000
  test.match((await metrics.answer('')).body.toString(), /fulcrum_pending_changes 3\n/)
  test.match(one.body.toString(), /fulcrum_pending_changes 1\n/, 'the previous one stays unchanged')
})

t.test('a document in transfer stays unchanged, and its memory is reused afterwards', async (test) => {
  let made = 0
  const { metrics, state } = fixture(async () => ({ ...STILL, pending: ++made }))
  const next = () => {
    state.now_ms += 1_000
    return metrics.answer('')
  }
  const [first, second] = [await next(), await next()]
  const letGo = first.hold?.()
  const third = await next()
  test.match(first.body.toString(), /fulcrum_pending_changes 1\n/)
  letGo?.()
  const fourth = await next()
  test.match(third.body.toString(), /fulcrum_pending_changes 3\n/)
  test.match(fourth.body.toString(), /fulcrum_pending_changes 4\n/)
  const memoryOf = ({ body }: typeof first) => (body instanceof Uint8Array ? body.buffer : undefined)
  test.not(memoryOf(third), memoryOf(first))
  test.equal(memoryOf(fourth), memoryOf(second))
})

t.test('with many objects a thread makes it, with the same result', async (test) => {
  const reals = Array.from({ length: 400 }, (_, at) => ({ ripId: `s${at}`, name: `n${at}` }))
  const names = namesOf([], [{ id: 'b', name: 'B', reals }])
  const live = new LiveAnswers(names, 'n')
  const layer4 = { hasFigures: false, figure: () => undefined, realsUp: () => undefined, healthIn: () => 'up' as const }
  const pool = expositionPool()
  test.teardown(() => pool.close())
  const tasks: string[] = []
  const counted: typeof pool = {
    run: (name, input) => {
      tasks.push(name)
      return pool.run(name, input)
    },
    close: () => pool.close(),
  }
  const state = { now_ms: 0 }
  const parts = {
    layer7: { live, names },
    layer4: { live: layer4, names },
    node: async () => STILL,
    clock: { monotonic_ms: () => state.now_ms },
  }
  const [apart, here] = [new Metrics({ ...parts, pool: counted }), new Metrics(parts)]
  const lines = (second: number) => reals.map(({ ripId }, at) => `b,${ripId},${at * second},0,0,0,UP,2,`).join('\n')
  const memories = new Set<ArrayBufferLike>()
  for (let second = 1; second <= 6; second++) {
    live.update(
      tickOf(
        new Uint8Array(Buffer.from(`# pxname,svname,scur,stot,bin,bout,status,type,\n${lines(second)}\n\n`)),
        second,
      ),
    )
    state.now_ms += 1_000
    for (const accept of ['', 'application/openmetrics-text']) {
      const { body } = await apart.answer(accept)
      test.equal(body.toString(), (await here.answer(accept)).body.toString())
      test.match(body.toString(), `server="n399"} ${399 * second}\n`)
      if (body instanceof Uint8Array && accept === '') memories.add(body.buffer)
    }
  }
  test.equal(tasks.filter((name) => name === 'write').length, 12)
  test.ok(memories.size <= 3, 'memory is reused')
})

t.test('an aborted document is not the base of the next one', async (test) => {
  let isBroken = true
  const { metrics } = fixture(async () => {
    if (isBroken) throw new Error('the disk fails')
    return STILL
  })
  await test.rejects(metrics.answer(''), /the disk fails/)
  isBroken = false
  test.match((await metrics.answer('')).body.toString(), /^# HELP fulcrum_node_info [^]*\nfulcrum_pending_changes 0\n/)
})

t.test('names follow the conventions', async (test) => {
  const names = FAMILIES.map(({ name }) => name)
  test.same(names.length, new Set(names).size, 'no name has two meanings')
  for (const family of FAMILIES) {
    const { name, help, labels, type } = family
    test.match(name, /^fulcrum_[a-z0-9]+(_[a-z0-9]+)*$/)
    test.notMatch(name, /_(total|info|count|sum|bucket|created)$/, name)
    test.notMatch(name, /milli|_ms(_|$)|kilo|percent/, 'base units')
    test.match(help, /^[A-Z][^"\\\n]*\.$/, name)
    for (const label of labels) test.match(label, /^[a-z]+[a-z0-9_]*$/)
    if (type === 'info') test.ok(labels.length > 0, name)
  }
})

const row = (family: Family) =>
  `| \`${sampleName(family)}\` | ${family.type} | ${family.labels.join(', ')} | ${family.help} |`

t.test('docs/metrics.md lists each of them (npm run docs writes it)', async (test) => {
  const listed = readFileSync(new URL('../../../docs/metrics.md', import.meta.url), 'utf8').split('\n')
  const rows = listed.filter((line) => line.startsWith('| `fulcrum_'))
  test.same(rows, FAMILIES.map(row))
})
