import t from 'tap'
import { mapFolder } from '../../src/drivers/haproxy/maps.ts'
import type { Condition, Rule } from '../../src/model/l7-rules.ts'
import { backend, frontend, realServer } from '../fixtures/config.ts'
import { freePort } from '../fixtures/traffic.ts'
import { viewOf } from '../fixtures/view.ts'
import { seededRandom } from '../storage/archive/reference-model.ts'
import { haproxyFixture } from '../workers/host/haproxy-fixture.ts'
import { ask, type Asked, origin } from './asked-haproxy.ts'

/** Rules with look-ups, in a real HAProxy: each request goes where the list says, without a reload. */

const HOSTS = ['a.test', 'B.test', 'www.c.test', 'd.test', '[2001:db8::1]']
const PATHS = ['/', '/a', '/a/b', '/a/bc', '/A', '/it\'s;"\\<#x>%!', '/z']
const SOURCES = ['127.0.0.2', '127.0.0.3', '127.0.1.0/24']
const BACKENDS = ['web', 'api', 'off']

const BEGINS = { type: 'path', match: 'begins' } as const
const when = (condition: Partial<Condition>): NonNullable<Rule['when']> => ({
  all: [{ type: 'host', values: [], ...condition }],
})

/** Returns the backend of a request, by evaluating the rules in order. */
function expected(rules: readonly Rule[], { path = '', headers = {}, localAddress = '' }: Asked): string {
  for (const { when: { all: [condition] = [] } = {}, do: action } of rules) {
    const { type, match, values = [] } = condition ?? {}
    const isIn = (network: string) =>
      network.endsWith('/24') ? localAddress.startsWith(network.slice(0, -4)) : network === localAddress
    const holds =
      type === 'source'
        ? values.some(isIn)
        : type === 'host'
          ? values.some((value) => value.toLowerCase() === headers['Host']?.toLowerCase())
          : values.some((value) => (match === 'begins' ? path.startsWith(value) : path === value))
    if (!holds) continue
    if (action.type === 'deny') return '403'
    return action.backendId === 'off' ? '503' : (action.backendId ?? '')
  }
  return '503'
}

t.test('each request goes where the rules say, however they change', async (test) => {
  const { apply, ask: say, host, paths } = haproxyFixture(test)
  const [port, ...origins] = [await freePort(), await origin(test, 'web'), await origin(test, 'api')]
  const config = (rules: readonly Rule[]) =>
    viewOf({
      realServers: origins.map((at, index) => realServer(`r${index}`, { port: at })),
      l7Backends: BACKENDS.map((id, index) => backend(id, [`r${index % 2}`], { enabled: id !== 'off' })),
      l7Frontends: [frontend('f', null, { ports: String(port), rules: [...rules] })],
    })
  const random = seededRandom(20_261_125)
  const pick = (below: number) => Math.floor(random() * below)
  const some = <T>(of: readonly T[], least = 1): T[] => {
    const found = of.filter(() => pick(2) === 0)
    return found.length >= least ? found : [of[pick(of.length)]!]
  }
  const backends = (condition: Partial<Condition>, values: readonly string[]): Rule[] =>
    Array.from({ length: 1 + pick(4) }, (_, at) => ({
      ...(pick(2) === 0 ? { name: `rule ${at} # ${pick(100)}` } : {}),
      when: when({ ...condition, values: some(values) }),
      do: { type: 'backend', backendId: BACKENDS[pick(3)]! },
    }))
  const anyRules = (): Rule[] => [
    { when: when({ type: 'source', match: 'in', values: some(SOURCES) }), do: { type: 'deny' } },
    ...backends({ type: 'host' }, HOSTS),
    ...backends(BEGINS, PATHS.slice(1)),
    ...backends({ type: 'path' }, PATHS),
  ]
  const asked: Asked[] = [...HOSTS, 'x.test'].flatMap((name) =>
    [...PATHS, '/a/b/c'].map((path) => ({ path, headers: { Host: name } })),
  )
  const sources: Asked[] = ['127.0.0.2', '127.0.0.4', '127.0.1.9'].map((localAddress) => ({
    localAddress,
    path: '/z',
    headers: { Host: 'a.test' },
  }))
  const found = async (one: Asked) => {
    const { status, arrived } = await ask(port, { ...one, path: encodeURI(one.path ?? '').replaceAll('#', '%23') })
    return arrived?.at ?? String(status)
  }
  const compare = async (rules: readonly Rule[], name: string) => {
    const all = [...asked, ...sources]
    const answers: string[] = []
    for (const one of all) answers.push(await found(one))
    test.strictSame(
      answers,
      all.map((one) => expected(rules, one)),
      name,
    )
  }
  let rules = anyRules()
  test.match(await apply(undefined, config(rules)), { ok: true })
  await compare(rules, 'as it starts')
  for (let round = 1; round <= 12; round++) {
    const next = anyRules()
    test.match(await apply(config(rules), config(next)), { ok: true }, `round ${round}`)
    rules = next
    await compare(rules, `round ${round}`)
  }
  test.match(await say('show proc'), /master +0 \[failed: 0\]/, 'no reload at all')
  test.match(await apply(undefined, config(rules)), { ok: true })
  test.match(await say('show proc'), /master +0 \[failed: 0\]/, 'the files were updated')
  test.match(await apply(undefined, config(rules), 'reload'), { ok: true })
  await compare(rules, 'as the files say')
  test.match(await apply(config(rules), config([])), { ok: true })
  test.strictSame(await host.readFile(`${mapFolder(paths)}/f.r1.map`), undefined, 'unused maps are deleted')
})

t.test('a change that the running HAProxy refuses is undone', async (test) => {
  const { apply, ask: say, host, paths } = haproxyFixture(test)
  const port = await freePort()
  const config = (...names: readonly string[]) =>
    viewOf({
      l7Backends: [backend('web', [])],
      l7Frontends: [
        frontend('f', null, {
          ports: String(port),
          rules: [{ when: when({ values: [...names] }), do: { type: 'backend', backendId: 'web' } }],
        }),
      ],
    })
  test.match(await apply(undefined, config('a.test', 'b.test')), { ok: true })
  const file = `${mapFolder(paths)}/f.r0.map`
  const before = await host.readFile(file)
  // Another client removed an entry that is about to be removed.
  await say(`@1 del map ${file} b.test`)
  test.match(await apply(config('a.test', 'b.test'), config('a.test', 'c.test')), {
    ok: false,
    kind: 'socket',
    output: /Key not found/,
    undone: true,
  })
  test.notMatch(await say(`@1 show map ${file}`), /c\.test/)
  test.match(await say(`@1 show map ${file}`), /b\.test web/)
  test.equal(await host.readFile(file), before)
})
