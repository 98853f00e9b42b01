import t from 'tap'
import { Owed } from '../../../src/http/owed.ts'

t.test('none is owed when each that was begun is over, however often that is reported', async (test) => {
  const owed = new Owed()
  await owed.none()
  const [first, second] = [owed.begin(), owed.begin()]
  let isNone = false
  const none = owed.none().then(() => (isNone = true))
  first()
  first()
  await new Promise(setImmediate)
  test.notOk(isNone)
  second()
  await none
  await test.rejects(owed.until(Promise.reject(new Error('lost'))), /lost/)
  await owed.none()
})

t.test('answers that can be cut are cut, once', (test) => {
  const owed = new Owed()
  const seen: string[] = []
  const over = owed.begin(() => seen.push('over'))
  const cut = owed.begin(() => {
    seen.push('cut')
    cut()
  })
  owed.begin()
  over()
  owed.cut()
  owed.cut()
  test.same(seen, ['cut'])
  test.end()
})
