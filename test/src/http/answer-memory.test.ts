import t from 'tap'
import { AnswerMemory, isKeepable, wishOf } from '../../../src/http/answer-memory.ts'
import type { Answer } from '../../../src/http/envelope.ts'
import { Validity } from '../../../src/base/validity.ts'

const answer = (body: string, more: Partial<Answer> = {}): Answer => ({
  status: 200,
  contentType: 'application/json',
  body,
  headers: {},
  ...more,
})

const request = (authorization: string, path = '/figures', headers: Record<string, string> = {}, query = '') => {
  const all: Record<string, string> = { authorization, ...headers }
  return { method: 'GET', path, query, header: (name: string) => all[name] ?? '' }
}

function fixture() {
  const clock = { now: 1_000_000, now_ms: () => clock.now, monotonic_ms: () => clock.now }
  const validity = new Validity()
  const memory = new AnswerMemory(validity, clock)
  const keep = (until_ms = clock.now + 10_000) => ({
    answers: validity.answers,
    rights: validity.rights,
    untilOf: () => until_ms,
  })
  /** As often as needed. */
  const learn = (from: ReturnType<typeof request>, what = answer('1'), kept = keep()) => {
    const wish = wishOf(from)
    for (let count = 0; wish !== undefined && count < 2; count++) memory.learn(wish, what, kept)
  }
  const find = (from: ReturnType<typeof request>) => memory.find(from)?.body
  return { clock, validity, memory, keep, learn, find }
}

t.test('an answer is for every caller with the right to it, and for no other', async (test) => {
  const { learn, find } = fixture()
  learn(request('alice'))
  test.equal(find(request('alice')), '1')
  test.equal(find(request('bob')), undefined)
  learn(request('bob'), answer('2'))
  test.equal(find(request('alice')), '2', 'the last one is that of all')
  test.equal(find(request('alice', '/others')), undefined)
})

t.test('the memory of many large answers is limited', async (test) => {
  const { learn, find } = fixture()
  const large = 'x'.repeat(1_024 * 1_024)
  for (let n = 0; n < 65; n++) learn(request('alice', `/${n}`), answer(large))
  test.equal(find(request('alice', '/0')), undefined)
  test.equal(find(request('alice', '/64')), large)
})

t.test('an answer requested once is not worth a place', async (test) => {
  const { memory, keep, find, validity, learn } = fixture()
  const wish = { what: '/figures', caller: 'alice', form: '' }
  memory.learn(wish, answer('1'), keep())
  test.equal(find(request('alice')), undefined)
  validity.endAnswers()
  memory.learn(wish, answer('1'), keep())
  test.equal(find(request('alice')), undefined, 'nor once per set of figures')
  learn(request('alice'))
  validity.endAnswers()
  memory.learn(wish, answer('2'), keep())
  test.equal(find(request('alice')), '2', 'it has its place from then on')
})

t.test('it is dropped with the figures, with the rights, after a second, and when a token ends', async (test) => {
  const { clock, validity, learn, find, keep } = fixture()
  const isKnown = () => find(request('alice')) !== undefined
  learn(request('alice'))
  validity.endAnswers()
  test.equal(isKnown(), false)
  learn(request('alice'))
  test.equal(isKnown(), true)
  validity.endRights()
  test.equal(isKnown(), false)
  validity.endAnswers()
  learn(request('alice'))
  clock.now += 1_000
  test.equal(isKnown(), true)
  clock.now += 1
  test.equal(isKnown(), false)
  learn(request('alice'), answer('1'), keep(clock.now + 10))
  clock.now += 9
  test.equal(isKnown(), true)
  clock.now += 1
  test.equal(isKnown(), false)
})

t.test('answers from earlier figures or rights are not stored', async (test) => {
  const { validity, learn, find, keep } = fixture()
  for (const change of ['endAnswers', 'endRights'] as const) {
    const early = keep()
    validity[change]()
    learn(request('alice'), answer('1'), early)
    test.equal(find(request('alice')), undefined, change)
  }
  learn(request('alice'), answer('1'), { answers: Number.NaN, rights: Number.NaN, untilOf: () => Number.NaN })
  test.equal(find(request('alice')), undefined)
})

t.test('the memory is limited, and long answers are not stored', async (test) => {
  const { learn, find } = fixture()
  const all = (count: number, of: (one: number) => ReturnType<typeof request>) =>
    Array.from({ length: count }, (_, one) => of(one))
  const known = (requests: readonly ReturnType<typeof request>[]) => {
    for (const one of requests) learn(one)
    return requests.filter((one) => find(one) !== undefined).length
  }
  const paths = known(all(300, (one) => request('alice', `/${one}`)))
  test.ok(paths > 0 && paths <= 256, `${paths} paths`)
  const forms = known(all(20, (one) => request('alice', '/forms', { accept: `${one}` })))
  test.ok(forms > 0 && forms <= 8, `${forms} forms`)
  const callers = known(all(20_000, (one) => request(`${one}`)))
  test.ok(callers > 0 && callers <= 16_384, `${callers} callers`)
  test.equal(known([request('x'.repeat(3_000))]), 0)
})

t.test('each form has its own answer', async (test) => {
  const { learn, find } = fixture()
  const forms = [{}, { 'accept-encoding': 'gzip' }, { accept: 'text/csv' }, { 'accept-encoding': 'br', accept: 'a/b' }]
  for (const [place, headers] of forms.entries()) learn(request('a', '/p', headers), answer(`${place}`))
  test.same(
    forms.map((headers) => find(request('a', '/p', headers))),
    ['0', '1', '2', '3'],
  )
  test.equal(find(request('a', '/p', { accept: 'text/plain' })), undefined)
})

t.test('an answer that depends on more than that is neither found nor stored', async (test) => {
  const { learn, find, memory } = fixture()
  learn(request('alice'))
  for (const name of ['x-transaction-id', 'x-fulcrum-sequence', 'if-none-match']) {
    test.equal(find(request('alice', '/figures', { [name]: '1' })), undefined, name)
    test.equal(wishOf(request('alice', '/figures', { [name]: '1' })), undefined, name)
  }
  for (const method of ['HEAD', 'POST', 'DELETE']) {
    test.equal(memory.find({ ...request('alice'), method }), undefined, method)
    test.equal(wishOf({ ...request('alice'), method }), undefined, method)
  }
  test.equal(find(request('alice', '/figures', {}, 'of=a')), undefined)
})

t.test('only immutable bytes are stored', async (test) => {
  test.ok(isKeepable(answer('1')))
  test.ok(isKeepable(answer('1', { isTransient: true, hold: () => () => undefined })))
  const others: Partial<Answer>[] = [
    { status: 404 },
    { status: 304 },
    { isTransient: true },
    { isOfNow: true },
    { slices: () => [][Symbol.iterator]() as never },
    { stream: () => () => undefined },
  ]
  const { learn, find } = fixture()
  for (const more of others) {
    test.notOk(isKeepable(answer('1', more)), JSON.stringify(more))
    learn(request('alice'), answer('1', more))
    test.equal(find(request('alice')), undefined)
  }
})
