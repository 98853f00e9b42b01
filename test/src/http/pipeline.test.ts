import t from 'tap'
import { Type } from 'typebox'
import { type Endpoint, NoData, endpoint } from '../../../src/api/endpoint.ts'
import { Reply } from '../../../src/api/reply.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { createLog } from '../../../src/base/log.ts'
import { Pipeline, type PipelineParts, callHandler, callInPlace } from '../../../src/http/pipeline.ts'
import { Places } from '../../../src/base/places.ts'
import { closed } from '../../../src/model/fields.ts'
import { refuses } from '../../fixtures/config.ts'
import { parseLimited } from '../../../workers/compute/limited-json.ts'

const common = { effect: 'read', staged: false, access: 'public', summary: 's' } as const
const at = (path: string, handle: () => unknown): Endpoint =>
  endpoint({ ...common, name: path, method: 'GET', path, message: 'ok', data: Type.Unknown(), handle })

const echo = (path: string) =>
  endpoint({
    ...common,
    name: path,
    method: 'POST',
    path,
    message: 'ok',
    body: closed({ a: Type.Integer() }),
    data: Type.Unknown(),
    handle: (_ctx, { body }) => body,
  })

const table: readonly Endpoint[] = [
  endpoint({
    ...common,
    name: 'name',
    method: 'GET',
    path: '/name/{id}',
    message: 'Hello {id}',
    data: NoData,
    handle: () => [],
  }),
  at('/throws', () => {
    throw new Error('secret detail')
  }),
  at('/rejects', () => Promise.reject(new Error('secret detail'))),
  at('/refuses', () => Promise.reject(new ApiError('IN_USE', 'no'))),
  at('/unspeakable', () => Promise.resolve(10n)),
  { ...at('/private', () => []), access: 'granted' },
  { ...at('/managed', () => []), managedOnly: true },
  at('/slices', () =>
    Reply.bytes({
      body: '',
      slices: function* () {
        yield Buffer.from('a')
        return 'too late'
      },
    }),
  ),
  at('/unreadable', () => Reply.bytes({ body: { length: 100_000 } as never })),
  at('/bytes', () => Reply.bytes({ body: 'raw', contentType: 'text/plain', etag: '"t1"', cacheControl: 'no-cache' })),
  echo('/echo'),
  { ...echo('/own'), access: 'granted', effect: 'stage' },
]

const SOMEBODY = {
  rights: { userId: 'u', email: 'e', granted: new Uint8Array(table.length).fill(1) },
  sessionId: 's',
}

function fixture(
  authenticate: () => typeof SOMEBODY | ApiError = () => new ApiError('UNAUTHENTICATED', 'no'),
  more: Partial<PipelineParts> = {},
) {
  const lines: string[] = []
  const pipeline = new Pipeline({
    endpoints: table,
    nodeId: 'n',
    log: createLog((line) => lines.push(line)),
    authenticate,
    expiryOf: () => 0,
    isIssued: () => false,
    audit: { assertRoom: () => undefined, assertShare: () => undefined, record: async () => true },
    parseLarge: async (raw) => parseLimited(raw),
    observed: {
      refuse() {
        throw new ApiError('NOT_SUPPORTED', 'this daemon only watches')
      },
    },
    createContext: ({ askAgain }) => ({
      work: {
        run: (handler) => {
          askAgain?.()
          return handler()
        },
        tagRead: undefined,
        cameIn: undefined,
        wentLive: undefined,
        changes: [],
      },
    }),
    ...more,
  })
  const send = (path: string, headers: Record<string, string> = {}, body?: string) =>
    pipeline.handle(
      {
        method: body === undefined ? 'GET' : 'POST',
        path: `/api/v1${path}`,
        query: '',
        address: '192.0.2.1',
        header: (name) => headers[name] ?? '',
        isAmbiguous: false,
        readBody: async () => Buffer.from(body ?? ''),
      },
      'request-7',
    )
  return { send, lines }
}

t.test('a GET that waits for nothing is answered without a promise', async (test) => {
  const answer = fixture().send('/name/World')
  test.notOk(answer instanceof Promise)
  test.match(await answer, { status: 200, body: '{"status":"success","message":"Hello World","data":[]}' })
})

t.test('a defect, thrown, rejected or in the answer itself, is 500 with the request id and no detail', async (test) => {
  for (const path of ['/throws', '/rejects', '/unspeakable']) {
    const { send, lines } = fixture()
    const answer = await send(path)
    test.equal(answer.status, 500, path)
    test.match(String(answer.body), /"code":"INTERNAL"/)
    test.match(String(answer.body), /request-7/)
    test.notMatch(String(answer.body), /secret detail/)
    test.match(lines.join(''), /"message":"defect","requestId":"request-7"/)
  }
})

t.test('a refusal is its code', async (test) => {
  test.match(await fixture().send('/refuses'), { status: 409, body: /"code":"IN_USE"/ })
})

t.test('a change of the machine is refused where it is only observed', async (test) => {
  test.match(await fixture().send('/managed'), { status: 501, body: /only watches/ })
})

t.test('a parameter is decoded; the message contains it', async (test) => {
  test.match(await fixture().send('/name/a%20b'), { body: /Hello a b/ })
})

t.test('a repeated path means the same, and is admitted anew each time', async (test) => {
  const { send } = fixture()
  for (const name of ['a%20b', 'c', 'a%20b', 'c']) {
    test.match(await send(`/name/${name}`), { status: 200, body: new RegExp(`Hello ${decodeURIComponent(name)}"`) })
  }
  for (let i = 0; i < 2; i++) test.match(await send('/private'), { status: 401 }, 'never before a caller is admitted')
  let isOpen = true
  const again = fixture(() => (isOpen ? SOMEBODY : new ApiError('TOKEN_EXPIRED', 'no')))
  const token = { authorization: 'Bearer t' }
  test.match(await again.send('/private', token), { status: 200 })
  test.match(await again.send('/private', token), { status: 200 })
  isOpen = false
  test.match(await again.send('/private', token), { status: 401 })
})

t.test('an answer in slices is sent as such; the reason of an abort is logged', async (test) => {
  const { send, lines } = fixture()
  const answer = await send('/slices')
  const slices = answer.slices?.()
  test.same(slices?.next(), { value: Buffer.from('a'), done: false })
  test.same(slices?.next(), { value: 'too late', done: true })
  test.match(lines.join(''), /"message":"answer aborted","requestId":"request-7","reason":"too late"/)
})

t.test('a form that cannot be made is a defect, not a crash', async (test) => {
  const { send, lines } = fixture()
  test.match(await send('/unreadable', { 'accept-encoding': 'gzip' }), { status: 500 })
  test.match(lines.join(''), /"message":"defect"/)
})

t.test('prepared bytes are sent as they are, or as 304 to a client that has them', async (test) => {
  const { send } = fixture()
  test.match(await send('/bytes'), {
    status: 200,
    contentType: 'text/plain',
    body: 'raw',
    headers: { ETag: '"t1"', 'Cache-Control': 'no-cache' },
  })
  for (const tag of ['"t1"', 'W/"t1"', '"x", "t1"', '*']) {
    test.match(await send('/bytes', { 'if-none-match': tag }), { status: 304, body: '' }, tag)
  }
  test.match(await send('/bytes', { 'if-none-match': '"t2"' }), { status: 200 })
})

t.test(
  'a caller admitted before the body arrives is checked again after it, and when its turn has come',
  async (test) => {
    const denied = { ...SOMEBODY, rights: { ...SOMEBODY.rights, granted: new Uint8Array(table.length) } }
    const gone = new ApiError('TOKEN_EXPIRED', 'no')
    for (const [later, status] of [
      [SOMEBODY, 200],
      [denied, 403],
      [gone, 401],
    ] as const) {
      for (const answers of [
        [SOMEBODY, later, later],
        [SOMEBODY, SOMEBODY, later],
      ]) {
        const { send } = fixture(() => answers.shift() ?? gone)
        const headers = { authorization: 'Bearer t', 'content-type': 'application/json' }
        test.match(await send('/own', headers, '{"a":1}'), { status })
      }
    }
  },
)

t.test('a request with a body is logged with its outcome, never with its body', async (test) => {
  const { send, lines } = fixture()
  const answer = await send('/echo', { 'content-type': 'application/json' }, '{"a":12345}')
  test.match(answer, { status: 200, body: /12345/ })
  test.match(lines.join(''), /"message":"request","requestId":"request-7","method":"POST","path":"\/api\/v1\/echo"/)
  test.notMatch(lines.join(''), /12345/)
})

const literal = { name: 'n', method: 'PUT', path: '/n', staged: true, summary: 's', message: 'ok' } as const

function turns() {
  const done: string[] = []
  const run = async (handler: () => unknown) => {
    done.push('turn')
    return handler()
  }
  return { done, run }
}

t.test('preparation is complete before the turn', async (test) => {
  const { done, run } = turns()
  const one = endpoint({
    ...literal,
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
  test.equal(await callHandler(one, { work: { run } }, {}), 'what was read')
  test.same(done, ['prepare', 'turn', 'handle'])
})

t.test('a read may wait for the entry of its own login; a token of nobody does not', async (test) => {
  const sharedLog = { position: 7, hasQuorum: true }
  const isIssued = (proof: unknown) => proof === 'genuine'
  const authenticate = () => (sharedLog.position < 8 ? new ApiError('TOKEN_EXPIRED', 'no session yet') : SOMEBODY)
  const { send } = fixture(authenticate, { sharedLog, isIssued })
  const ask = (token: string) => send('/private', { authorization: `Bearer ${token}`, 'x-fulcrum-sequence': '8' })
  const stranger = ask('forged')
  test.notOk(stranger instanceof Promise)
  test.equal((await stranger).status, 401)
  const fresh = ask('genuine')
  sharedLog.position = 8
  test.equal((await fresh).status, 200)
})

t.test('a refusal during preparation takes no turn', async (test) => {
  const { done, run } = turns()
  const prepare = () => Promise.reject(new Error('no'))
  await test.rejects(
    async () =>
      callHandler(endpoint({ ...literal, effect: 'stage', prepare, handle: () => undefined }), { work: { run } }, {}),
    /no/,
  )
  test.same(done, [])
})

t.test('others take their turn at once; a read takes none', async (test) => {
  const { done, run } = turns()
  await callHandler(endpoint({ ...literal, effect: 'stage', handle: () => undefined }), { work: { run } }, {})
  test.same(done, ['turn'])
  test.equal(
    callHandler(endpoint({ ...literal, effect: 'read', data: Type.Number(), handle: () => 7 }), { work: { run } }, {}),
    7,
  )
  test.same(done, ['turn'])
})

t.test(
  'TOO_MANY_AT_ONCE: expensive work has a place while it runs, and without places no one is counted',
  async (test) => {
    const { run } = turns()
    let finish = () => undefined as void
    const work = new Promise<void>((resolve) => (finish = resolve))
    const one = endpoint({ ...literal, effect: 'act', handle: () => work })
    const places = new Places({ what: 'trials', all_max: 4, each_max: 1, retryAfter_s: 2 })
    const first = callInPlace(one, { work: { run } }, {}, places, 'a')
    await refuses(test, 'TOO_MANY_AT_ONCE', () => callInPlace(one, { work: { run } }, {}, places, 'a'))
    const second = callInPlace(one, { work: { run } }, {}, places, 'b')
    void callInPlace(one, { work: { run } }, {}, undefined, 'a')
    finish()
    await Promise.all([first, second].map((each) => Promise.resolve(each)))
    test.equal(places.open, 0)
  },
)
