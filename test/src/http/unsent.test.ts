import t from 'tap'
import { Unsent } from '../../../src/http/unsent.ts'

t.test('when too many bytes wait, those go whose clients have taken nothing for longest', async (test) => {
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
  test.same(closed, ['b'], 'a has taken some meanwhile')
  test.equal(unsent.bytes, 90)
  a.grown(20)
  test.same(closed, ['b', 'a'])
  test.equal(unsent.bytes, 60)
  a.moved(1_000)
  a.end()
  test.equal(unsent.bytes, 60, 'who is gone counts no more')
})

t.test('what waits for nothing is not closed, and one that is larger than all may be is', async (test) => {
  const unsent = new Unsent(100)
  const closed: string[] = []
  unsent.hold(() => closed.push('stream'))
  const large = unsent.hold(() => closed.push('large'))
  large.moved(101)
  test.same(closed, ['large'])
  test.equal(unsent.bytes, 0)
})
