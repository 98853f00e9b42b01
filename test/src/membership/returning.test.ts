import t from 'tap'
import { comeBack, startOver } from '../../../src/membership/returning.ts'

const PLACE = { host: '192.0.2.2', port: 9444 } as const
const URL = 'https://192.0.2.2:9446'
const member = (id: string, name: string, url: string) => ({
  id,
  name,
  peerUrls: [url],
  clientUrls: [],
  isLearner: name === '',
})
const OTHER = member('1', 'a', 'https://192.0.2.1:9446')

function returning(...more: readonly ReturnType<typeof member>[]) {
  const done: unknown[] = []
  let listed = [OTHER, ...more]
  const tell = (what: unknown) => async () => void done.push(what)
  const parts = {
    own: { clusterId: 'c', name: 'site', nodeId: 'b', epoch: 1, keys: [] as never, isReturning: true, ...PLACE },
    etcd: {
      members: {
        list: async () => listed,
        remove: async (id: string) => {
          listed = listed.filter((one) => one.id !== id)
          done.push({ remove: id })
        },
        add: async (urls: readonly string[], how: object = {}) => {
          await tell({ add: urls, ...how })()
          const added = member('3', '', URL)
          listed = [...listed, added]
          return added
        },
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
const ADD = { add: [URL], isLearner: true }
const OVER = { isReturning: undefined, vote: undefined, epoch: 2 }

t.test('a node comes back as a learner, and is no longer returning when its etcd starts', async (t) => {
  const { parts, done } = returning()
  await comeBack(parts)
  t.same(done, [ADD, ARGUMENTS, OVER])
})

t.test('an earlier entry may have been added already, and is removed first', async (t) => {
  for (const name of ['', 'b']) {
    const { parts, done } = returning(member('2', name, URL))
    await comeBack(parts)
    t.same(done, [{ remove: '2' }, ADD, ARGUMENTS, OVER])
  }
  const { parts, done } = returning(member('2', 'c', URL))
  await comeBack(parts)
  t.same(done[0], ADD, 'of another node nothing is removed: etcd refuses the address')
})

t.test('its old etcd data is deleted once that has ended', async (t) => {
  const done: string[] = []
  const note = (what: string) => async () => void done.push(what)
  const files = { wipeEtcd: note('etcd'), forgetHalt: note('halt') }
  await startOver({ startOver: note('store') }, files, { stop: note('stop') })
  t.same(done, ['stop', 'etcd', 'store', 'halt'], 'while its data differs from the others it is halted')
})
