import t from 'tap'
import type { LiveView } from '../../../src/context/figures.ts'
import { isLayer4Told, Layer4OfNodes, type Layer4Told } from '../../../src/stats/layer4-of-nodes.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const objects = (connections: number | null) => ({
  frontends: [{ id: 'f', connections }],
  backends: [],
  reals: [],
})
const body = (data: unknown) => Buffer.from(JSON.stringify({ data }))

function fixture({ problem, others = true }: { readonly problem?: string; readonly others?: boolean } = {}) {
  const clock = manualClock()
  const asked = { times: 0, told: new Map<string, Layer4Told>([['two', { objects: objects(2) }]]) }
  const own = {
    problem,
    render: (view: LiveView) =>
      'id' in view && view.id === 'none' ? undefined : { body: body(objects(problem === undefined ? 1 : null)) },
  }
  const of = new Layer4OfNodes({
    nodeId: 'one',
    own,
    hasOthers: () => others,
    askOthers: async () => {
      asked.times += 1
      return asked.told
    },
    clock,
  })
  const read = async (view: LiveView = { kind: 'frontends' }) => {
    const found = await of.render(view)
    return { ...JSON.parse(Buffer.from(found?.body ?? 'null').toString()), etag: found?.etag }
  }
  return { clock, asked, of, read }
}

t.test('a single node answers as before, at once, and asks no other', (t) => {
  const { of, asked } = fixture({ others: false })
  t.strictSame(of.render({ kind: 'all' }), { body: body(objects(1)) })
  t.equal(asked.times, 0)
  t.end()
})

t.test('others are asked once a second, however many clients poll', async (t) => {
  const { asked, clock, read, of } = fixture()
  const [first] = await Promise.all([read(), read({ kind: 'all' }), read()])
  t.match(first, {
    data: [{ id: 'f', connections: 3 }],
    nodes: ['one', 'two'],
    missing: [],
    message: 'Layer 4 statistics',
  })
  clock.advance(999)
  asked.told = new Map([['two', { objects: objects(20) }]])
  t.match(await read(), { data: [{ connections: 3 }], etag: first.etag })
  t.equal(asked.times, 1)
  clock.advance(1)
  const [next] = await Promise.all([read(), read()])
  t.match(next, { data: [{ connections: 21 }] })
  t.not(next.etag, first.etag)
  t.equal(asked.times, 2)
  t.equal(await of.render({ kind: 'frontend', id: 'none' }), undefined)
})

t.test('a real server in no backend has no figures, and is listed', async (t) => {
  const { of, read } = fixture()
  t.match(await read({ kind: 'rip', id: 'alone' }), { data: [], nodes: ['one', 'two'] })
  t.equal(await of.render({ kind: 'rip', id: 'none' }), undefined)
})

t.test('a node without an answer is missing, with the reason', async (t) => {
  const { asked, read } = fixture({ problem: 'not read yet' })
  asked.told.set('three', { problem: 'it refuses connections' })
  t.match(await read(), {
    message: 'Layer 4 statistics; 2 of 3 nodes are missing',
    data: [{ connections: 2 }],
    nodes: ['two'],
    missing: [
      { nodeId: 'one', why: 'not read yet' },
      { nodeId: 'three', why: 'it refuses connections' },
    ],
  })
})

t.test('where no node has figures, the objects are listed without', async (t) => {
  const { asked, read } = fixture({ problem: 'not read yet' })
  asked.told = new Map([['two', { problem: 'neither' }]])
  t.match(await read(), { data: [{ id: 'f', connections: null }], nodes: [], missing: [{}, {}] })
})

t.test('answers of another version are not added up', (t) => {
  for (const told of [{ objects: objects(1) }, { problem: 'not read yet' }]) t.ok(isLayer4Told(told))
  const { frontends, reals } = objects(1)
  const others = [null, 'said', {}, { objects: {} }, { objects: { frontends, reals } }, { objects: { frontends: [1] } }]
  for (const told of others) t.notOk(isLayer4Told(told), JSON.stringify(told))
  t.end()
})
