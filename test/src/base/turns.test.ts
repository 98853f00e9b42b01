import t from 'tap'
import { inTurns, turn } from '../../../src/base/turns.ts'

function* portions(each: () => void, count: number) {
  for (let n = 0; n < count; n++) {
    each()
    yield
  }
}

t.test('the event loop runs between long portions', async (test) => {
  const seen: string[] = []
  const busy = () => {
    const end_ms = performance.now() + 2
    while (performance.now() < end_ms);
    seen.push('portion')
  }
  const ticking = setInterval(() => seen.push('tick'), 1)
  await inTurns(portions(busy, 20))
  clearInterval(ticking)
  test.equal(seen.filter((what) => what === 'portion').length, 20, 'everything was done')
  test.ok(seen.indexOf('tick') !== -1 && seen.indexOf('tick') < seen.lastIndexOf('portion'), 'others ran in between')
})

t.test('no work is done at once', async (test) => {
  await inTurns([])
  await turn()
  test.pass()
})

t.test('errors of a portion are thrown', async (test) => {
  const failing = portions(() => {
    throw new Error('no')
  }, 1)
  await test.rejects(inTurns(failing), { message: 'no' })
})
