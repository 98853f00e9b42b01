import t from 'tap'
import { openStore } from '../../fixtures/config.ts'

t.test('entries are in the order of their keys; several changes are one', async (test) => {
  const { jobs } = openStore(test)
  await jobs.put('b', 1)
  await jobs.write(
    [
      { key: 'a', value: { x: 1 } },
      { key: 'c', value: 3 },
    ],
    ['b'],
  )
  test.same(jobs.entries(), [
    { key: 'a', value: { x: 1 } },
    { key: 'c', value: 3 },
  ])
  await jobs.remove(['a', 'nope'])
  test.same(jobs.entries(), [{ key: 'c', value: 3 }])
})
