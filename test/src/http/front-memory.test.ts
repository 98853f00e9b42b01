import t from 'tap'
import type { Answer } from '../../../src/http/envelope.ts'
import { FrontMemory, wishOf } from '../../../src/http/front-memory.ts'
import { Validity } from '../../../src/base/validity.ts'

const answer = (body: string): Answer => ({ status: 200, contentType: 'application/json', body, headers: {} })
const wish = (caller: string, what = 'figures') => ({ caller: `${caller} ${what}`, answer: what })

function fixture() {
  const clock = { now: 1_000_000, now_ms: () => clock.now, monotonic_ms: () => clock.now }
  const validity = new Validity()
  const memory = new FrontMemory(validity, clock)
  const keep = (until_ms = clock.now + 10_000) => ({ answers: validity.answers, rights: validity.rights, until_ms })
  return { clock, validity, memory, keep }
}

t.test('an answer is for everybody who was let ask for it, and for nobody else', async (test) => {
  const { memory, keep } = fixture()
  memory.learn(wish('alice'), answer('1'), keep())
  test.equal(memory.find(wish('alice'))?.body, '1')
  test.equal(memory.find(wish('bob')), undefined)
  memory.learn(wish('bob'), answer('2'), keep())
  test.equal(memory.find(wish('alice'))?.body, '2', 'the last one is that of all')
  test.equal(memory.find(wish('alice', 'others')), undefined)
})

t.test('it is forgotten with the figures, with the rights, after a second, and when a token ends', async (test) => {
  const { clock, validity, memory, keep } = fixture()
  const learn = (until_ms?: number) => memory.learn(wish('alice'), answer('1'), keep(until_ms))
  const isKnown = () => memory.find(wish('alice')) !== undefined
  learn()
  validity.endAnswers()
  test.equal(isKnown(), false)
  learn()
  test.equal(isKnown(), true)
  validity.endRights()
  test.equal(isKnown(), false)
  learn()
  clock.now += 1_000
  test.equal(isKnown(), true)
  clock.now += 1
  test.equal(isKnown(), false)
  learn(clock.now + 10)
  clock.now += 9
  test.equal(isKnown(), true)
  clock.now += 1
  test.equal(isKnown(), false)
})

t.test('what was answered of earlier figures or rights is not learnt', async (test) => {
  const { validity, memory, keep } = fixture()
  for (const change of ['endAnswers', 'endRights'] as const) {
    const early = keep()
    validity[change]()
    memory.learn(wish('alice'), answer('1'), early)
    test.equal(memory.find(wish('alice')), undefined, change)
  }
  memory.learn(wish('alice'), answer('1'), { answers: Number.NaN, rights: Number.NaN, until_ms: Number.NaN })
  test.equal(memory.find(wish('alice')), undefined)
})

t.test('it is bounded, and what is too long is not kept', async (test) => {
  const { memory, keep } = fixture()
  for (let count = 0; count < 300; count++) memory.learn(wish('alice', `${count}`), answer('1'), keep())
  const known = Array.from({ length: 300 }, (_, count) => memory.find(wish('alice', `${count}`))).filter(Boolean)
  test.ok(known.length > 0 && known.length <= 256, `${known.length}`)
  memory.learn(wish('x'.repeat(3_000)), answer('1'), keep())
  test.equal(memory.find(wish('x'.repeat(3_000))), undefined)
})

t.test('a wish is what an answer depends on; anything else is asked behind', async (test) => {
  const of = (headers: Record<string, string>, method = 'GET', query = 'of=a') =>
    wishOf({ method, path: '/p', query, header: (name) => headers[name] ?? '' })
  const plain = of({})
  test.same(of({ accept: 'text/html' }), plain)
  test.not(of({ authorization: 'Bearer x' })?.caller, plain?.caller)
  test.equal(of({ authorization: 'Bearer x' })?.answer, plain?.answer)
  for (const name of ['accept-encoding', 'if-none-match']) test.not(of({ [name]: 'x' })?.answer, plain?.answer, name)
  test.not(of({}, 'GET', 'of=b')?.answer, plain?.answer)
  for (const name of ['x-transaction-id', 'x-fulcrum-sequence']) test.equal(of({ [name]: '1' }), undefined, name)
  for (const method of ['HEAD', 'POST', 'DELETE']) test.equal(of({}, method), undefined, method)
})
