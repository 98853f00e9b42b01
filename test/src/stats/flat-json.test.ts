import t from 'tap'
import { FlatMembers, sameBytes } from '../../../src/stats/flat-json.ts'

t.test('members of an object, whatever its texts hold', async (test) => {
  const object = { id: 'a', name: 'x "}, \\" {[ü', empty: '', count: 12, none: null, 'a"b': -1.5 }
  const bytes = Buffer.from(`zz${JSON.stringify(object)}`)
  const members = new FlatMembers(bytes, 2)
  const found: [string, unknown][] = []
  while (members.next()) {
    const name = JSON.parse(bytes.toString('utf8', members.start, members.value - 1))
    found.push([name, JSON.parse(bytes.toString('utf8', members.value, members.end))])
  }
  test.same(found, Object.entries(object))
  test.equal(new FlatMembers(Buffer.from('{}'), 0).next(), false)
})

t.test('equal bytes', async (test) => {
  const bytes = Buffer.from('abcabd')
  test.equal(sameBytes(bytes, 0, 2, bytes, 3, 5), true)
  test.equal(sameBytes(bytes, 0, 3, bytes, 3, 6), false)
  test.equal(sameBytes(bytes, 0, 3, bytes, 3, 5), false)
})
