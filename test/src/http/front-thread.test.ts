import t from 'tap'
import { validity } from '../../../src/base/validity.ts'
import { counting, ok, threadInFront } from '../../fixtures/in-front.ts'
import { assertServes } from '../../fixtures/serving.ts'
import { until } from '../../fixtures/until.ts'

const listenInFront = await threadInFront(t)

assertServes(t, listenInFront, { pipelines: false })

t.test('an answer shared by all is served from memory, until figures or rights change', async (test) => {
  const { get, seen } = await counting(test, listenInFront)
  const asBefore = async () => (await get()) === (await get())
  for (const change of [() => validity.endAnswers(), () => validity.endRights()]) {
    // On a busy machine now and then nothing is kept for long enough.
    await until('an answer from memory', asBefore)
    const before = seen.length
    change()
    test.equal(await get({ 'x-transaction-id': 'one' }), before + 1)
    test.ok((await get()) > before, 'it is not the stored one')
  }
  test.ok(seen.length < 100)
})

t.test('an answer is not stored when its basis changed before it arrived', async (test) => {
  for (const change of [() => validity.endAnswers(), () => validity.endRights()]) {
    let asked = 0
    const { port } = await listenInFront(test, async (incoming) => {
      incoming.letKeep?.(() => Date.now() + 60_000)
      asked += 1
      change()
      return ok('1')
    })
    for (let count = 0; count < 3; count++) await (await fetch(`http://127.0.0.1:${port}/`)).text()
    test.equal(asked, 3)
  }
})
