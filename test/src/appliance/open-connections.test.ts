import { Readable } from 'node:stream'
import t from 'tap'
import { connectionsOfNodes, openConnections, toldConnections } from '../../../src/appliance/open-connections.ts'
import { PeerError } from '../../../src/peers/peer-error.ts'

/** Figures of one node, whose HAProxy and kernel have so many connections to any real server. */
const figures = (sessions: readonly (number | undefined)[], kernel: readonly number[] = [], isTrial = false) => ({
  settings: { profile: isTrial ? ('trial' as const) : ('appliance' as const) },
  layer7: { sessions: () => sessions },
  layer4: { live: { connections: () => kernel } },
})

t.test('connections of both layers are summed, and one unknown number makes the sum unknown', (test) => {
  test.equal(openConnections(figures([2, 1], [4]), 'r'), 7)
  test.equal(openConnections(figures([2], [4], true), 'r'), 2, 'in trial the kernel balances nothing')
  test.equal(openConnections(figures([2, undefined]), 'r'), undefined)
  test.equal(openConnections(figures([]), 'r'), 0)
  test.end()
})

t.test('in a cluster every node counts: clients connect to the holder of the floating IP', async (test) => {
  const asked: unknown[] = []
  const over = (answers: Readonly<Record<string, () => number | null>>) => {
    const ids = Object.keys(answers)
    const members = { othersThan: (self: string) => ids.filter((id) => id !== self) }
    const forward = async ({ nodeId, body }: { readonly nodeId: string; readonly body: string }) => {
      asked.push([nodeId, JSON.parse(body)])
      return { status: 200, headers: {}, body: Readable.from([Buffer.from(JSON.stringify(answers[nodeId]?.()))]) }
    }
    // Sound: nothing else of it is used.
    const asking = { self: 'a', membership: { members, forward } } as never
    return connectionsOfNodes(figures([1]), asking, 'r')
  }
  const lost = (): never => {
    throw new PeerError('unreachable', 'it is off')
  }
  test.equal(await over({ b: () => 500, c: () => 20 }), 521)
  test.match(asked, [
    ['b', { ripId: 'r' }],
    ['c', { ripId: 'r' }],
  ])
  test.equal(await over({ b: () => null, c: () => 20 }), undefined)
  test.equal(await over({ b: lost }), undefined, 'an unreachable node may still have clients')
  test.equal(toldConnections(figures([undefined]), { ripId: 'r' }), null)
  test.equal(toldConnections(figures([3]), { ripId: 'r' }), 3)
})
