import t from 'tap'
import { ArchiveObjects } from '../../../src/stats/objects.ts'

t.test('stored objects, then the places of the running thread', async (t) => {
  const objects = new ArchiveObjects()
  const stored = {
    id: 1,
    kind: 'frontend' as const,
    name: 'fe',
    backend: '',
    born_s: 1,
    died_s: undefined,
    slot: -1,
    seen_s: 1,
  }
  const place = (objectId: number, name: string, slot: number) => ({
    objectId,
    kind: 'server' as const,
    name,
    backend: 'be',
    slot,
  })
  objects.reset([stored], [place(2, 's1', 0)])
  t.strictSame(objects.find('frontend', 'fe', ''), { id: 1, slot: -1 })
  t.strictSame(objects.find('server', 's1', 'be'), { id: 2, slot: 0 })
  t.equal(objects.find('server', 's1', 'other'), undefined)
  objects.add([place(3, 's2', 1)])
  objects.remove([2, 99])
  t.strictSame(objects.find('server', 's1', 'be'), { id: 2, slot: -1 }, 'its stored data stay readable')
  objects.reset([], [])
  t.equal(objects.find('server', 's2', 'be'), undefined)
})
