import { randomUUID } from 'node:crypto'
import t from 'tap'
import { type Entry, type EntryLog, LostRaceError, staging } from '../../../storage/config/entry.ts'
import { openStore } from '../../fixtures/config.ts'

const origin = { actor: 'tester', endpoint: 'test.write', at: '2026-01-02T03:04:05.000Z' }
const at = (key: string) => ({ section: 'things', scope: '', key })
const write = (n: number) => [{ ...at('a'), value: { n } }]

t.test('an edit that changes nothing is no entry, and each change has its own id', async (test) => {
  test.equal(staging(origin, [], [], randomUUID), undefined)
  test.match(staging(origin, [], ['x'], randomUUID), { op: 'stage', writes: [], discards: ['x'] })
  let ids = 0
  const entry = staging(origin, [...write(1), { ...at('b'), value: undefined }], [], () => `id-${++ids}`)
  test.match(entry, {
    origin,
    writes: [
      { key: 'a', changeId: 'id-1' },
      { key: 'b', changeId: 'id-2' },
    ],
    discards: [],
  })
})

t.test('an edit is rebuilt when another node was first, and given up after repeated conflicts', async (test) => {
  const store = openStore(test)
  let others = 2
  const log: EntryLog = {
    get position() {
      return store.folding.position
    },
    append: async (entry, since) => {
      if (others > 0) {
        others -= 1
        const [first] = write(store.folding.position + 100)
        const another: Entry = {
          op: 'stage',
          origin,
          writes: [{ ...at('a'), value: first?.value, changeId: 'x' }],
          discards: [],
        }
        await store.folding.fold(another, since + 1)
        throw new LostRaceError(new Error('too many others'))
      }
      await store.folding.fold(entry, since + 1)
    },
  }
  store.orderBy(log)
  const built: unknown[] = []
  const add = () => {
    built.push(store.candidate.get('things', '', 'a')?.value)
    return { result: built.length, entry: staging(origin, write(built.length), [], randomUUID) }
  }
  test.equal(await store.edit(add), 3)
  test.same(built, [undefined, { n: 100 }, { n: 101 }], "each time on top of the other's write")
  test.same(store.candidate.get('things', '', 'a')?.value, { n: 3 })
  others = Infinity
  await test.rejects(store.edit(add), { message: 'too many others' })
})
