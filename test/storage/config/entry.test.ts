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
    catchUp: async () => undefined,
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

t.test('a refusal, or that nothing changes, rests on everything that others have written', async (test) => {
  const store = openStore(test)
  const others: Entry[] = []
  let looks = 0
  store.orderBy({
    get position() {
      return store.folding.position
    },
    append: (entry, since) => store.folding.fold(entry, since + 1),
    catchUp: async () => {
      looks += 1
      for (const entry of others.splice(0)) await store.folding.fold(entry, store.folding.position + 1)
    },
  })
  const written = (n: number): Entry => ({
    op: 'stage',
    origin,
    writes: write(n).map((one) => ({ ...one, changeId: 'x' })),
    discards: [],
  })
  const now = () => store.candidate.get('things', '', 'a')?.value
  const set = (n: number) =>
    store.edit(() => {
      if (now() === undefined) throw new Error('there is no such record')
      const isNew = JSON.stringify(now()) !== JSON.stringify({ n })
      return { result: isNew, entry: isNew ? staging(origin, write(n), [], randomUUID) : undefined }
    })
  await test.rejects(set(1), { message: 'there is no such record' })
  test.equal(looks, 1)
  others.push(written(7))
  test.equal(await set(1), true, 'it is there: another node has just created it')
  test.same([now(), looks], [{ n: 1 }, 2], 'an edit that is written looks for nothing')
  others.push(written(2))
  test.equal(await set(1), true, 'it has just got another value')
  test.equal(await set(1), false)
})
