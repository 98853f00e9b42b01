import t from 'tap'
import { Foreign, must, refusedBy, Refused, refusedWith } from '../../../src/client/refused.ts'

const ok = new Response('{}')
const refusal = {
  status: 'error',
  code: 'INVALID_BODY',
  message: 'The body has 1 problem',
  errors: [{ field: 'reals.0.ripId', code: 'REQUIRED', message: 'is required' }],
  data: { usage: [] },
}

t.test('data is returned, also when it is falsy', async (test) => {
  test.same(must({ data: { a: 1 }, response: ok }), { a: 1 })
  test.equal(must({ data: 0, response: ok }), 0)
})

t.test('a refusal is thrown with its code, its fields and its data', async (test) => {
  const thrown = (() => {
    try {
      return must({ error: refusal, response: new Response('', { status: 422 }) })
    } catch (error) {
      return error
    }
  })()
  if (!(thrown instanceof Refused)) throw new Error('it was not refused')
  test.match(thrown, { status: 422, code: 'INVALID_BODY', message: /1 problem/, data: { usage: [] }, name: 'Refused' })
  test.equal(thrown.about('reals.0.ripId'), 'is required')
  test.equal(thrown.about('name'), undefined)
})

t.test('an answer that is not from the API is reported as such', async (test) => {
  test.throws(() => must({ error: '<html>', response: new Response('', { status: 502 }) }), Foreign)
  test.match(await refusedWith(new Response('<html>', { status: 502 })), { name: 'Foreign', message: /502/ })
  test.match(await refusedWith(new Response(JSON.stringify(refusal), { status: 422 })), { code: 'INVALID_BODY' })
  test.type(refusedBy(404, { code: 'NOT_FOUND', message: 'm' }), Refused)
  test.same((refusedBy(404, { code: 'NOT_FOUND', message: 'm' }) as Refused).errors, [])
})
