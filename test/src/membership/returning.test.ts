import t from 'tap'
import { comeBack, startOver } from '../../../src/membership/returning.ts'

const PLACE = { host: '192.0.2.2', port: 9444 } as const
const URL = 'https://192.0.2.2:9446'
const OTHER = { id: '1', name: 'a', peerUrls: ['https://192.0.2.1:9446'], clientUrls: [], isLearner: false }
const SELF = { id: '2', name: '', peerUrls: [URL], clientUrls: [], isLearner: true }

function returning() {
  const done: unknown[] = []
  const tell = (what: unknown) => async () => void done.push(what)
  const parts = {
    own: { clusterId: 'c', name: 'site', nodeId: 'b', epoch: 1, keys: [] as never, isReturning: true, ...PLACE },
    etcd: {
      members: {
        list: async () => [OTHER, SELF],
        add: async (urls: readonly string[], how: object = {}) => (await tell({ add: urls, ...how })(), SELF),
      },
    },
    members: { epoch: 2 },
    files: {
      change: async (changes: object) => void done.push(changes),
      keepArguments: async (args: readonly string[]) => void done.push(args),
    },
    service: {
      argumentsOf: (_: object, members: object, state: string) => [state, JSON.stringify(members)],
    },
  }
  return { parts, done }
}

const ARGUMENTS = ['existing', JSON.stringify({ a: OTHER.peerUrls, b: [URL] })]
const OVER = { isReturning: undefined, vote: undefined, epoch: 2 }

t.test('a node comes back as a learner, and is no longer returning when its etcd starts', async (t) => {
  const { parts, done } = returning()
  await comeBack(parts, [OTHER])
  t.same(done, [{ add: [URL], isLearner: true }, ARGUMENTS, OVER])
})

t.test('one that was added before a crash is not added twice', async (t) => {
  const { parts, done } = returning()
  await comeBack(parts, [OTHER, SELF])
  t.same(done, [ARGUMENTS, OVER])
})

t.test('what it had of etcd goes when that has ended', async (t) => {
  const done: string[] = []
  const note = (what: string) => async () => void done.push(what)
  const files = { wipeEtcd: note('etcd'), forgetHalt: note('halt') }
  await startOver({ startOver: note('store') }, files, { stop: note('stop') })
  t.same(done, ['stop', 'etcd', 'store', 'halt'], 'while it has something else than the others it is halted')
})
