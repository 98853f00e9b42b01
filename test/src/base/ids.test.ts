import t from 'tap'
import { IDS, isId, nameBasedId, newId } from '../../../src/base/ids.ts'

t.test('new ids are version 7 UUIDs that sort by creation, within one millisecond too', async (test) => {
  const ids = Array.from({ length: 20_000 }, () => newId())
  test.match(ids[0], /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  test.same([...ids].sort(), ids)
  test.equal(new Set(ids).size, ids.length)
})

t.test('ids are known as such', async (test) => {
  const [id, other] = [newId(), nameBasedId('x')]
  test.same([id, other, `${id}0`, `x${id}`, id.toUpperCase(), ''].map(isId), [true, true, false, false, false, false])
  test.same(`a ${id},${other}"`.match(IDS), [id, other])
})

t.test('name-based ids are version 5 UUIDs and never change', async (test) => {
  test.equal(nameBasedId('GET /ping'), nameBasedId('GET /ping'))
  test.not(nameBasedId('GET /ping'), nameBasedId('PUT /ping'))
  test.match(nameBasedId('GET /ping'), /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})
