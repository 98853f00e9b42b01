import t from 'tap'
import { queued } from '../../../storage/config/queued.ts'

t.test('a part that fails is reported by its batch only', async (test) => {
  let unhandled = 0
  const count = () => unhandled++
  process.on('unhandledRejection', count)
  test.teardown(() => process.off('unhandledRejection', count))
  queued(Promise.reject(new Error('part')))
  await new Promise((resolve) => setImmediate(resolve))
  test.equal(unhandled, 0)
})
