import t, { type Test } from 'tap'
import { OwnStanding } from '../../../src/membership/own-standing.ts'
import type { Standing } from '../../../src/peers/standing.ts'
import { when } from '../../fixtures/cluster-in-memory.ts'
import { TestCluster } from '../../fixtures/peers.ts'

const at = '2026-01-01T00:00:00.000Z'
const TOLD: Standing = { removedAt: at, isLeaving: false, isOut: true }

/** `lb1`, with `stage` in its log, which knows `lb2`. That one has removed it. */
async function begun(test: Test, stage?: 'marked' | 'out') {
  const cluster = await TestCluster.make()
  const { lb1, lb2 } = cluster
  let asked = 0
  const standingOf = (pin: string) => {
    asked += 1
    return pin === lb1.pin ? TOLD : undefined
  }
  const { port } = await cluster.serve(test, () => ({ status: 200, headers: {} }), { standingOf })
  const place = { host: '127.0.0.1', port }
  const members = {
    all: () => [
      { id: 'lb1', pin: lb1.pin, ...place },
      { id: 'lb2', pin: lb2.pin, ...place },
    ],
    removalOf: () => stage && { stage, at, isLeaving: true },
  }
  const files = { certificates: () => ({ client: lb1.credentials }) }
  const standing = new OwnStanding({ own: { nodeId: 'lb1' }, pin: lb1.pin, members, files } as never)
  return { standing, asked: () => asked }
}

t.test('a node that was removed elsewhere learns of it from the others', async (t) => {
  const { standing, asked } = await begun(t)
  t.equal(standing.removal, undefined)
  t.same(await standing.ask(), TOLD)
  t.same([standing.removal, asked()], [TOLD, 1], 'a node does not ask itself')
  await standing.ask()
  t.equal(asked(), 1, 'a removed node has nothing to ask any more')
})

t.test('a node that continues alone asks in parallel, once at a time', async (t) => {
  const { standing, asked } = await begun(t)
  standing.askBeside()
  standing.askBeside()
  t.equal(standing.removal, undefined, 'nothing waits for it')
  await when(() => standing.removal !== undefined)
  t.equal(asked(), 1)
})

t.test('the log decides where it is ahead', async (t) => {
  t.match((await begun(t, 'out')).standing.removal, { isOut: true, isLeaving: true })
  const { standing } = await begun(t, 'marked')
  t.match(standing.removal, { isOut: false })
  t.same(await standing.ask(), TOLD, 'otherwise the others do')
})
