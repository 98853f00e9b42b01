import t from 'tap'
import { applianceFixture } from '../../../fixtures/appliance.ts'

t.test('the requested objects have to exist, and their number is limited', async (test) => {
  const { call, node } = await applianceFixture(test)
  const ask = async (ids: string) => (await call('GET', `/${node}/stats/stream?ids=${ids}`)).json
  test.match(await ask('nothing'), {
    code: 'INVALID_QUERY',
    errors: [{ field: 'ids', code: 'NOT_FOUND', message: 'has "nothing", which is not a running object' }],
  })
  test.match(await ask(''), { code: 'INVALID_QUERY' })
  const many = Array.from({ length: 101 }, (_, n) => `x${n}`).join()
  test.match(await ask(many), { code: 'INVALID_QUERY', errors: [{ field: 'ids', code: 'TOO_MANY' }] })
  const answer = await call('GET', `/${node}/stats/stream`)
  test.equal(answer.status, 200)
  test.equal(answer.headers['content-type'], 'text/event-stream')
  test.equal(answer.headers['Cache-Control'], 'no-store')
})
