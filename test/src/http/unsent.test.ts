import t from 'tap'
import { Unsent } from '../../../src/http/unsent.ts'

t.test('when too many bytes wait, the clients that have read nothing for longest are closed', async (test) => {
  const unsent = new Unsent(100)
  const closed: string[] = []
  const hold = (name: string, bytes: number) => {
    const held = unsent.hold(() => closed.push(name))
    held.moved(bytes)
    return held
  }
  const a = hold('a', 40)
  hold('b', 40)
  a.moved(30)
  test.equal(unsent.bytes, 70)
  hold('c', 60)
  test.same(closed, ['b'], 'a has read some meanwhile')
  test.equal(unsent.bytes, 90)
  a.grown(20)
  test.same(closed, ['b', 'a'])
  test.equal(unsent.bytes, 60)
  a.moved(1_000)
  a.end()
  test.equal(unsent.bytes, 60, 'a lost client no longer counts')
})

t.test('a client without waiting bytes is not closed, and one with more than the total limit is', async (test) => {
  const unsent = new Unsent(100)
  const closed: string[] = []
  unsent.hold(() => closed.push('stream'))
  const large = unsent.hold(() => closed.push('large'))
  large.moved(101)
  test.same(closed, ['large'])
  test.equal(unsent.bytes, 0)
})
