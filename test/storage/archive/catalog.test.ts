import t from 'tap'
import { type ArchiveObject, decodeObject, encodeObject, objectKey } from '../../../storage/archive/catalog.ts'

t.test('entries are read back; anything else is not guessed at', async (t) => {
  const object: ArchiveObject = {
    id: 3,
    kind: 'server',
    name: 'web',
    backend: 'shop',
    born_s: 5,
    died_s: 9,
    slot: 2,
    seen_s: 9,
  }
  t.strictSame(decodeObject(3, encodeObject(object)), { ...object, slot: -1 })
  for (const text of [
    '',
    'null',
    '[]',
    '{}',
    '{"kind":"table","name":"a","backend":"","born_s":1}',
    '{"kind":"server","name":1}',
  ]) {
    t.equal(decodeObject(3, new Uint8Array(Buffer.from(text))), undefined, text)
  }
})

t.test('objects are distinguished by kind, name and backend', async (t) => {
  const keys = [
    objectKey('frontend', 'a', ''),
    objectKey('backend', 'a', ''),
    objectKey('server', 'a', 'b'),
    objectKey('server', 'b', 'a'),
  ]
  t.equal(new Set(keys).size, keys.length)
})
