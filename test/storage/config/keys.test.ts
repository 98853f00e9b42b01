import t from 'tap'
import { decode, encode, padded } from '../../../storage/config/keys.ts'

t.test('a key is what it was', async (test) => {
  const key = { section: 'users', scope: '', key: 'a' }
  test.same(decode(encode(key)), key)
})

t.test('revisions sort as text', async (test) => {
  test.same([padded(10), padded(9), padded(100)].toSorted(), [padded(9), padded(10), padded(100)])
})
