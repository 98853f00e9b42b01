import t from 'tap'
import { KeptAnswer } from '../../../src/base/kept-answer.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

function fixture() {
  const clock = manualClock()
  const asked: { answer: (text: string) => void; fail: () => void }[] = []
  const ask = () =>
    new Promise<string>((answer, reject) => asked.push({ answer, fail: () => reject(new Error('it is gone')) }))
  return { clock, asked, kept: new KeptAnswer({ ask, kept_ms: 1_000, clock }) }
}

t.test('many callers share one query until its answer is old', async (test) => {
  const { clock, asked, kept } = fixture()
  const first = [kept.get(), kept.get()]
  clock.advance(5_000)
  first.push(kept.get())
  test.equal(asked.length, 1, 'a slow one is not asked twice')
  asked[0]?.answer('one')
  test.same(await Promise.all(first), ['one', 'one', 'one'])
  clock.advance(999)
  test.equal(await kept.get(), 'one')
  clock.advance(1)
  const next = kept.get()
  asked[1]?.answer('two')
  test.same([await next, await kept.get(), asked.length], ['two', 'two', 2])
})

t.test('another query is asked separately, and a late answer belongs to its own query', async (test) => {
  const { clock, asked, kept } = fixture()
  const [old, now] = [kept.get('revision 1'), kept.get('revision 2')]
  asked[1]?.answer('two')
  test.equal(await now, 'two')
  clock.advance(900)
  asked[0]?.answer('one')
  test.equal(await old, 'one')
  test.equal(await kept.get('revision 2'), 'two')
  clock.advance(100)
  void kept.get('revision 2')
  test.equal(asked.length, 3, 'its age counts from its own answer')
})

t.test('a failed query is repeated', async (test) => {
  const { asked, kept } = fixture()
  const failed = kept.get()
  asked[0]?.fail()
  await test.rejects(failed, { message: 'it is gone' })
  const again = kept.get()
  asked[1]?.answer('one')
  test.equal(await again, 'one')
})
