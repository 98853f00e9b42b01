import t from 'tap'
import { inTurns, onOneRevision, turn } from '../../../src/config/turns.ts'
import { configFixture, realServer } from '../../config-fixture.ts'

function* portions(each: () => void, count: number) {
  for (let n = 0; n < count; n++) {
    each()
    yield
  }
}

t.test('the loop turns between portions that take long', async (test) => {
  const seen: string[] = []
  const busy = () => {
    const end_ms = performance.now() + 2
    while (performance.now() < end_ms);
    seen.push('portion')
  }
  const ticking = setInterval(() => seen.push('tick'), 1)
  await inTurns(portions(busy, 20))
  clearInterval(ticking)
  test.equal(seen.filter((what) => what === 'portion').length, 20, 'all was done')
  test.ok(seen.indexOf('tick') !== -1 && seen.indexOf('tick') < seen.lastIndexOf('portion'), 'others came in between')
})

t.test('nothing to do is done', async (test) => {
  await inTurns([])
  await turn()
  test.pass()
})

t.test('what a portion throws is thrown', async (test) => {
  const failing = portions(() => {
    throw new Error('no')
  }, 1)
  await test.rejects(inTurns(failing), { message: 'no' })
})

t.test('work that an apply came between is done again, also when it failed', async (test) => {
  const { edit, promote, store } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  let tries = 0
  const seen = await onOneRevision(store, async () => {
    tries += 1
    if (tries > 1) return store.running.list('realServers', '').length
    await promote()
    throw new Error('half old, half new')
  })
  test.same([seen, tries], [1, 2])
  await test.rejects(
    onOneRevision(store, async () => Promise.reject(new Error('no'))),
    { message: 'no' },
  )
})
