import { Type } from 'typebox'
import t from 'tap'
import { endpoint } from '../../../src/api/endpoint.ts'
import { handled, handledInPlace } from '../../../src/http/handling.ts'
import { Places } from '../../../src/http/places.ts'
import { refuses } from '../../config-fixture.ts'

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

t.test(
  'TOO_MANY_AT_ONCE: what is dear has a place while it is worked on, and without places nobody is counted',
  async (test) => {
    const { run } = turns()
    let finish = () => undefined as void
    const work = new Promise<void>((resolve) => (finish = resolve))
    const one = endpoint({ ...common, effect: 'act', handle: () => work })
    const places = new Places({ what: 'trials', all_max: 4, each_max: 1, retryAfter_s: 2 })
    const first = handledInPlace(one, { run }, {}, places, 'a')
    await refuses(test, 'TOO_MANY_AT_ONCE', () => handledInPlace(one, { run }, {}, places, 'a'))
    const second = handledInPlace(one, { run }, {}, places, 'b')
    void handledInPlace(one, { run }, {}, undefined, 'a')
    finish()
    await Promise.all([first, second].map((each) => Promise.resolve(each)))
    test.equal(places.open, 0)
  },
)
