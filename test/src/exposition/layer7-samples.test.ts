import t from 'tap'
import { Exposition } from '../../../src/exposition/exposition.ts'
import { labelsOf } from '../../../src/exposition/labels.ts'
import type { Layer7Input } from '../../../src/exposition/layer7-input.ts'
import { Layer7Samples } from '../../../src/exposition/layer7-samples.ts'
import { seededRandom } from '../../storage/archive/reference-model.ts'

const NONE = { labels: labelsOf([]), rowOf: new Int32Array(0) }

/** Servers with these values in `status`, `scur` and `rtime`. */
function inputOf(
  servers: readonly (readonly [name: string, status: string, scur: string, rtime: string, chosen: number])[],
  version = 1,
): Layer7Input {
  const lines = ['status,scur,rtime', ...servers.map(([, status, scur, rtime]) => `${status},${scur},${rtime}`)]
  const text = lines.map((line) => `${line}\n`)
  const starts = text.map((_, at) => text.slice(0, at).join('').length)
  return {
    csv: new Uint8Array(Buffer.from(text.join(''))),
    rows: Uint32Array.from(starts),
    columns: new Map([
      ['status', 0],
      ['scur', 1],
      ['rtime', 2],
    ]),
    version,
    kinds: {
      frontend: NONE,
      backend: NONE,
      server: {
        labels: labelsOf(servers.map(([name]) => `{server="${name}"`)),
        rowOf: Int32Array.from(servers, (_, at) => at + 1),
      },
    },
    states: Uint8Array.from(servers, ([, , , , chosen]) => chosen),
  }
}

/** Documents, each made from the previous one. */
function documents() {
  const [samples, out] = [new Layer7Samples(), new Exposition('prometheus')]
  return (input: Layer7Input | undefined) => {
    for (const _ of samples.write(out, input));
    const document = out.end()
    samples.keep(document)
    return document.toString()
  }
}

function series() {
  const next = documents()
  return (input: Layer7Input | undefined) => {
    const lines = next(input).split('\n')
    return (name: string) =>
      lines.filter((line) => line.startsWith(`fulcrum_layer7_server_${name}{`)).map((line) => line.slice(15))
  }
}

t.test("the chosen state, or otherwise HAProxy's; milliseconds as seconds; no sample without a value", async (test) => {
  const lines = series()(
    inputOf([
      ['a', 'UP', '7', '1500', 2],
      ['b', 'DRAIN', '', '3', 0],
      ['c', 'MAINT', '-1', '0', 3],
      ['d', 'DOWN 1/2', 'x', '', 0],
      ['e', 'MAINT', '0', '', 0],
    ]),
  )
  const state = (name: string, value: number) => `server_state{server="${name}"} ${value}`
  test.same(lines('state'), [state('a', 1), state('b', 1), state('c', 2), state('d', 2), state('e', 0)])
  test.same(lines('current_sessions'), [
    'server_current_sessions{server="a"} 7',
    'server_current_sessions{server="e"} 0',
  ])
  const time = (name: string, value: string) => `server_response_time_average_seconds{server="${name}"} ${value}`
  test.same(lines('response_time_average_seconds'), [time('a', '1.5'), time('b', '0.003'), time('c', '0')])
  test.same(
    lines('up').map((line) => line.slice(-4)),
    ['"} 1', '"} 1', '"} 0'],
  )
})

t.test('an incremental document equals one made from scratch', async (test) => {
  const random = seededRandom(21)
  const oneOf = <T>(some: readonly T[]): T => some[Math.floor(random() * some.length)] as T
  const next = documents()
  type Server = Parameters<typeof inputOf>[0][number]
  const server = (n: number): Server => [
    `s${n}`,
    oneOf(['UP', 'DOWN', 'DRAIN', 'MAINT', 'no check', '']),
    oneOf(['', '-1', '0', '7', '12', '123456789', '12345678901234567890123']),
    oneOf(['', '0', '3', '20', '1500']),
    oneOf([0, 0, 1, 2, 3]),
  ]
  const servers = Array.from({ length: 300 }, (_, n) => server(n))
  for (let round = 0; round < 60; round++) {
    const isBack = round === 40
    if (isBack) test.equal(next(undefined), '', 'HAProxy does not answer once')
    const changes = isBack ? 0 : oneOf([0, 0, 1, 3, 200])
    for (let change = 0; change < changes; change++) {
      const n = Math.floor(random() * servers.length)
      servers[n] = server(n)
    }
    const input = inputOf(servers)
    // A column may disappear with another HAProxy, and come back.
    if (round % 9 > 6) (input.columns as Map<string, number>).delete('scur')
    test.equal(next(input), documents()(input), `round ${round}`)
  }
})

t.test('other objects have another version, and nothing of the earlier ones stays', async (test) => {
  const next = series()
  const sessions = (input: Layer7Input | undefined) => next(input)('current_sessions')
  const line = (name: string, value: number) => `server_current_sessions{server="${name}"} ${value}`
  test.same(sessions(inputOf([['a', 'UP', '1', '', 0]])), [line('a', 1)])
  test.same(sessions(inputOf([['a', 'UP', '22', '', 0]])), [line('a', 22)])
  test.same(sessions(undefined), [])
  const two = [
    ['b', 'UP', '3', '', 0],
    ['c', 'UP', '4', '', 0],
  ] as const
  test.same(sessions(inputOf(two, 2)), [line('b', 3), line('c', 4)])
})

/** Frontends with these values in `status`. */
function frontendsOf(...statuses: readonly string[]): Layer7Input {
  const input = inputOf(statuses.map((status, at) => [String(at), status, '', '', 0]))
  const { rowOf } = input.kinds.server
  const labels = labelsOf(statuses.map((_, at) => `{frontend="${at}"`))
  return { ...input, kinds: { ...input.kinds, server: NONE, frontend: { labels, rowOf } } }
}

t.test('a frontend that was paused, or has ended, accepts no connections', async (test) => {
  const next = documents()
  const ups = (...statuses: readonly string[]) => next(frontendsOf(...statuses)).match(/(?<=_up\{.*)\d$/gm)
  test.same(ups('OPEN', 'PAUSED', 'STOP', ''), ['1', '0', '0'])
  test.same(ups('PAUSED', 'OPEN', 'OPEN', ''), ['0', '1', '1'])
})

/** Backends with these values in `status`, `act` and `bck`. */
function backendsOf(rows: readonly (readonly [status: string, active: string, backup: string])[]): Layer7Input {
  const empty = inputOf([])
  const lines = ['status,act,bck', ...rows.map((row) => row.join(','))].map((line) => `${line}\n`)
  const labels = labelsOf(rows.map((_, at) => `{backend="${at}"`))
  return {
    ...empty,
    csv: new Uint8Array(Buffer.from(lines.join(''))),
    rows: Uint32Array.from(lines, (_, at) => lines.slice(0, at).join('').length),
    columns: new Map([
      ['status', 0],
      ['act', 1],
      ['bck', 2],
    ]),
    kinds: { ...empty.kinds, backend: { labels, rowOf: Int32Array.from(rows, (_, at) => at + 1) } },
  }
}

t.test(
  'a backend is up while one of its servers takes traffic, and neither without servers, which HAProxy calls UP',
  async (test) => {
    const next = documents()
    const ups = (...rows: Parameters<typeof backendsOf>[0]) => {
      const lines = next(backendsOf(rows)).split('\n')
      return lines.filter((line) => line.startsWith('fulcrum_layer7_backend_up{')).map((line) => line.slice(-1))
    }
    test.same(ups(['UP', '2', '0'], ['UP', '0', '1'], ['UP', '0', '0'], ['DOWN', '0', '0']), ['1', '1', '0'])
    test.same(ups(['UP', '0', '0'], ['UP', '0', '1'], ['UP', '10', '0'], ['UP', '0', '1']), ['1', '1', '1'])
    test.same(ups(['UP', '', ''], ['UP', '0', '1'], ['UP', '10', '0'], ['', '0', '0']), ['1', '1', '1'], 'no value')
  },
)
