import t from 'tap'
import { EtcdError } from '../../../src/etcd/errors.ts'
import type { Member as EtcdMember } from '../../../src/etcd/members.ts'
import { answeringKnows, KNOWS, promote } from '../../../src/membership/promotion.ts'
import { peersThatAnswer } from '../../fixtures/questions.ts'

const member = (name: string, isLearner = false): EtcdMember => ({
  id: `of ${name}`,
  name,
  peerUrls: [],
  clientUrls: [],
  isLearner,
})

/** The node `a`, which sees the listed ones. */
function promoting({ nodes = ['a', 'b'], known = ['w'] } = {}) {
  const promoted: string[] = []
  const away = new Set<string>()
  const isVoter = (id: string) => (known.includes(id) ? ({ id } as never) : undefined)
  const look = (...listed: readonly EtcdMember[]) =>
    promote(
      {
        own: { nodeId: 'a' },
        etcd: {
          members: {
            promote: async (id) => {
              if (id === 'of lagging') throw new EtcdError('refused', 'it has not caught up')
              promoted.push(id)
            },
          },
        },
        members: { get: (id) => (nodes.includes(id) ? ({ id } as never) : undefined) },
        peers: peersThatAnswer({ [KNOWS]: answeringKnows(() => ({ voter: isVoter })) }),
        isReachable: (id) => !away.has(id),
      },
      listed,
    )
  return { look, promoted, away }
}

t.test('a reachable node that has caught up votes', async (t) => {
  const { look, promoted, away } = promoting()
  await look(member('a'), member('b'), member('c'), member('d', true), member('lagging', true))
  t.same(promoted, ['of d'])
  away.add('w')
  await look(member('a'), member('b'), member('c'), member('w', true))
  t.same(promoted, ['of d'])
})

t.test('a third vote waits until the other of two knows of it', async (t) => {
  const knowing = promoting()
  await knowing.look(member('a'), member('b'), member('w', true))
  t.same(knowing.promoted, ['of w'])
  const unknowing = promoting({ known: [] })
  await unknowing.look(member('a'), member('b'), member('w', true))
  t.same(unknowing.promoted, [])
})

t.test('a node that returns to a node and a witness need not wait: neither of them takes over', async (t) => {
  const { look, promoted } = promoting({ known: [] })
  await look(member('a'), member('w'), member('b', true))
  t.same(promoted, ['of b'])
})
