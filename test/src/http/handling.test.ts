import { Type } from 'typebox'
import t from 'tap'
import { endpoint } from '../../../src/api/endpoint.ts'
import { handled } from '../../../src/http/handling.ts'

const common = { name: 'n', method: 'PUT', path: '/n', staged: true, summary: 's', message: 'ok' } as const

function turns() {
  const done: string[] = []
  const run = async (handler: () => unknown) => {
    done.push('turn')
    return handler()
  }
  return { done, run }
}

t.test('what is prepared is ready before the turn', async (test) => {
  const { done, run } = turns()
  const one = endpoint({
    ...common,
    effect: 'stage',
    data: Type.String(),
    prepare: async () => {
      done.push('prepare')
      return 'what was read'
    },
    handle: (_ctx, _request, prepared) => {
      done.push('handle')
      return prepared
    },
  })
  test.equal(await handled(one, { run }, {}), 'what was read')
  test.same(done, ['prepare', 'turn', 'handle'])
})

t.test('a refusal while it is prepared takes no turn', async (test) => {
  const { done, run } = turns()
  const prepare = () => Promise.reject(new Error('no'))
  await test.rejects(
    async () => handled(endpoint({ ...common, effect: 'stage', prepare, handle: () => undefined }), { run }, {}),
    /no/,
  )
  test.same(done, [])
})

t.test('others take their turn at once; who only reads takes none', async (test) => {
  const { done, run } = turns()
  await handled(endpoint({ ...common, effect: 'stage', handle: () => undefined }), { run }, {})
  test.same(done, ['turn'])
  test.equal(handled(endpoint({ ...common, effect: 'read', data: Type.Number(), handle: () => 7 }), { run }, {}), 7)
  test.same(done, ['turn'])
})
