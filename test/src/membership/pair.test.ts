import t from 'tap'
import type { Member, PairSettings } from '../../../src/membership/members.ts'
import { Pair } from '../../../src/membership/pair.ts'
import { refuses } from '../../fixtures/config.ts'

function pairOf(...ids: readonly string[]) {
  return withOthers(ids, [])
}

function withOthers(ids: readonly string[], others: readonly string[]) {
  const done: unknown[] = []
  const nodes = ids.map((id) => ({ id, name: `node ${id}` }) as unknown as Member)
  const members = {
    all: () => nodes,
    mayVote: () => new Set([...ids, ...others]),
    get: (id: string) => nodes.find((one) => one.id === id),
    pair: undefined as PairSettings | undefined,
    setPair: async (settings: PairSettings | undefined) => {
      members.pair = settings
      done.push(settings)
    },
  }
  const cluster = {
    own: { nodeId: 'a' },
    betweenLooks: async <T>(work: () => Promise<T>) => {
      done.push('between looks')
      return await work()
    },
    succession: {
      takeOver: async (...asked: readonly unknown[]) => void done.push(asked),
      histories: { resolve: async (keep: string) => void done.push(keep) },
    },
  }
  return { pair: new Pair({ cluster: () => (ids.length === 0 ? undefined : cluster), members }), done }
}

t.test('one of two nodes is preferred, or neither', async (t) => {
  const { pair, done } = pairOf('a', 'b')
  await pair.prefer({ preferredNode: 'b', takeoverAfter: 30 })
  await pair.prefer({ preferredNode: null, takeoverAfter: 30 })
  t.same(done, [{ preferredNode: 'b', takeoverAfter_s: 30 }, undefined])
  const error = await refuses(t, 'INVALID_BODY', pair.prefer({ preferredNode: 'c', takeoverAfter: 30 }))
  t.match(error.details.errors, [{ field: 'preferredNode', code: 'UNKNOWN_NODE' }])
})

t.test('the time of absence stays as set when it is omitted', async (t) => {
  const { pair, done } = pairOf('a', 'b')
  await pair.prefer({ preferredNode: 'b' })
  await pair.prefer({ preferredNode: 'b', takeoverAfter: 300 })
  await pair.prefer({ preferredNode: 'a' })
  await pair.prefer({ preferredNode: 'a', takeoverAfter: null })
  t.same(done, [
    { preferredNode: 'b', takeoverAfter_s: 30 },
    { preferredNode: 'b', takeoverAfter_s: 300 },
    { preferredNode: 'a', takeoverAfter_s: 300 },
    { preferredNode: 'a', takeoverAfter_s: 30 },
  ])
})

t.test('in another cluster none is, and without one there is nothing to do', async (t) => {
  const more = { preferredNode: 'a', takeoverAfter: 30 }
  const error = await refuses(t, 'INVALID_BODY', pairOf('a', 'b', 'c').pair.prefer(more))
  t.match(error.details.errors, [{ field: 'preferredNode', code: 'NOT_A_PAIR' }])
  const { pair } = pairOf()
  await refuses(t, 'NOT_FOUND', pair.prefer(more))
  await refuses(t, 'NOT_FOUND', pair.resolve('a'))
})

t.test('with a witness no node is preferred, and an earlier preference can be removed', async (t) => {
  const { pair, done } = withOthers(['a', 'b'], ['w'])
  const error = await refuses(t, 'INVALID_BODY', pair.prefer({ preferredNode: 'a', takeoverAfter: 30 }))
  t.match(error.details.errors, [{ field: 'preferredNode', code: 'NOT_A_PAIR' }])
  await pair.prefer({ preferredNode: null, takeoverAfter: 30 })
  t.same(done, [undefined])
})

t.test('no look runs while a node takes over', async (t) => {
  const { pair, done } = pairOf('a', 'b')
  const how = { reason: 'gone', isForced: false, by: 'somebody' }
  await pair.takeOver({ partnerIsOff: 'b', ...how })
  await pair.resolve('b')
  t.same(done, ['between looks', ['b', how], 'b'])
})
