import t from 'tap'
import {
  hashes,
  memberOf,
  type Portion,
  portionsOf,
  serverOf,
  serversOf,
} from '../../../../src/drivers/haproxy/server.ts'
import type { L7Backend } from '../../../../src/model/layer7.ts'
import type { RealServer } from '../../../../src/model/real-server.ts'
import type { ConfigView } from '../../../../src/model/sections.ts'
import { backend, realServer } from '../../../fixtures/config.ts'
import { seededRandom } from '../../../storage/archive/reference-model.ts'
import { viewOf } from './records.ts'

const view = viewOf({
  realServers: [
    realServer('r1', { weight: 50 }),
    realServer('r2', { state: 'drained' }),
    realServer('r3', { state: 'halted' }),
  ],
})
const line = (more: Partial<L7Backend>): string | undefined => serversOf(backend('b', ['r1'], more), view)[0]?.line
const optionsWithId = (real: Partial<L7Backend['reals'][number]>, more: Partial<L7Backend> = {}): string | undefined =>
  serversOf(backend('b', [], { ...more, reals: [{ ripId: 'r1', ...real }] }), view)[0]?.options

/** Without the number, which every server has. */
const options = (...given: Parameters<typeof optionsWithId>): string | undefined =>
  optionsWithId(...given)?.replace(/^ id \d+/, '')

t.test('state becomes weight and maintenance', (t) => {
  const [online, drained, halted] = serversOf(backend('b', ['r1', 'r2', 'r3']), view)
  t.match(online?.line, /^ {4}server r1 127\.0\.0\.1:8000 weight 50 id \d+$/)
  t.match(drained, { weight: 0, halted: false })
  t.match(halted, { weight: 100, halted: true, line: /disabled$/ })
  t.end()
})

t.test('the membership overrides weight and port', (t) => {
  t.match(line({ reals: [{ ripId: 'r1', weight: 3, port: 81 }] }), '127.0.0.1:81 weight 3')
  t.match(serverOf(backend('b', [], { reals: [{ ripId: 'r2', weight: 3 }] }), 'r2', view), { weight: 0 })
  t.end()
})

t.test('every option of a membership', (t) => {
  t.equal(options({ backup: true, sendProxy: true, maxConn: 9 }), ' backup send-proxy-v2 maxconn 9')
  t.equal(options({ encrypted: true }), ' ssl verify none')
  t.equal(options({ encrypted: true, verify: true }), ' ssl verify required ca-file @system-ca')
  t.match(options({ encrypted: true, verify: true, sni: 'a.example' }), ' sni str(a.example) verifyhost a.example')
  t.equal(options({}, { persistence: { type: 'cookie' } }), ' cookie r1')
  t.equal(options({ backup: true }, { persistence: { type: 'ip' } }), ' backup non-stick')
  t.equal(options({ backup: true }, { persistence: { type: 'cookie' } }), ' backup')
  t.end()
})

t.test('checks over TLS', (t) => {
  const https = { healthCheck: { type: 'https', host: 'h.example:8443' } } as const
  t.match(options({}, https), / check-ssl verify none check-sni h\.example$/, 'without the port')
  t.match(options({ encrypted: true }, https), / ssl verify none check .* check-sni h\.example$/)
  t.notMatch(options({}, { healthCheck: { type: 'https', host: '[::1]:80' } }), 'check-sni')
  const verified = { encrypted: true, verify: true, sni: 'a.example' }
  t.match(options(verified, https), / check-sni a\.example$/, 'the name with which the certificate is compared')
  t.end()
})

t.test('servers of a hash have numbers that depend only on their ids', (t) => {
  const numberOf = (ripIds: readonly string[], id: string): string | undefined =>
    / id (\d+)/.exec(serverOf(backend('b', ripIds, { balance: 'source' }), id, view)?.options ?? '')?.[1]
  t.ok(Number(numberOf(['r1'], 'r1')) >= 100_000)
  t.equal(numberOf(['r3', 'r2', 'r1'], 'r1'), numberOf(['r1'], 'r1'))
  const many = Array.from({ length: 20_000 }, (_, index) => realServer(`s${index}`))
  const group = backend(
    'b',
    many.map(({ id }) => id),
    { balance: 'uri' },
  )
  const numbers = new Set(serversOf(group, viewOf({ realServers: many })).map((entry) => entry.options))
  t.equal(numbers.size, 20_000, 'all different')
  t.strictSame(
    (['source', 'uri', 'roundrobin'] as const).map((balance) => hashes(backend('b', [], { balance }))),
    [true, true, false],
  )
  t.end()
})

t.test('`first` uses the order of the record', (t) => {
  const ids = serversOf(backend('b', ['r3', 'r1'], { balance: 'first' }), view).map((entry) => entry.options)
  t.strictSame(ids, [' id 100000', ' id 100001'])
  t.end()
})

t.test('rings of very many servers have coarser weights', (t) => {
  const weightOf = (balance: L7Backend['balance'], servers: number, weight: number): number | undefined => {
    const ripIds = ['r1', ...Array.from({ length: servers - 1 }, (_, index) => `s${index}`)]
    return serverOf(backend('b', ripIds, { balance }), 'r1', viewOf({ realServers: [realServer('r1', { weight })] }))
      ?.weight
  }
  for (const balance of ['source', 'uri', 'random'] as const) {
    t.equal(weightOf(balance, 500, 100), 100)
    t.equal(weightOf(balance, 501, 100), 50)
    t.equal(weightOf(balance, 20_000, 1), 1, 'no server is drained by it')
    t.equal(weightOf(balance, 20_000, 0), 0)
  }
  t.equal(weightOf('roundrobin', 20_000, 100), 100)
  t.end()
})

t.test('a record outside of the backend is no server', (t) => {
  const group = backend('b', ['r1', 'gone'])
  t.equal(serversOf(group, view).length, 1)
  t.equal(serverOf(group, 'gone', view), undefined)
  t.equal(serverOf(group, 'r2', view), undefined)
  t.strictSame(memberOf(group, 'r1'), { ripId: 'r1' })
  t.end()
})

t.test('a server is computed again when its record changes', (t) => {
  const group = backend('b', ['r1'])
  const before = serversOf(group, view)[0]
  t.equal(serversOf(group, view)[0], before, 'the same object while nothing changes')
  t.match(serversOf(group, viewOf({ realServers: [realServer('r1', { weight: 9 })] }))[0], { weight: 9 })
  t.end()
})

/** Like the views of the store: the list is the same object as long as its content is unchanged. */
function viewWith(records: readonly RealServer[]): ConfigView {
  const whole = viewOf({ realServers: records })
  return {
    get: (section, id) => whole.get(section, id),
    list: (section) => (section === 'realServers' ? (records as never) : []),
  }
}

t.test('portions use the real servers of their view, also when two views alternate', (t) => {
  const ids = Array.from({ length: 250 }, (_, index) => `r${String(index).padStart(3, '0')}`)
  const group = backend('b', ids)
  const realServers = ids.map((id) => realServer(id))
  const before = viewWith(realServers)
  const after = viewWith(realServers.map((real, at) => (at === 120 ? { ...real, weight: 1 } : real)))
  const weightIn = (portions: readonly Portion[]) => portions[1]?.servers[20]?.weight
  t.equal(weightIn([...portionsOf(group, before)]), 100)
  const slow = portionsOf(group, after)
  const found = [slow.next().value, slow.next().value].filter((portion) => portion !== undefined)
  t.equal(weightIn([...portionsOf(group, before)]), 100, 'halfway through another view')
  for (const portion of slow) found.push(portion)
  t.equal(weightIn(found), 1)
  t.equal(weightIn([...portionsOf(group, after)]), 1, 'known by now')
  t.equal(weightIn([...portionsOf(group, before)]), 100)
  const [kept] = portionsOf(group, after)
  t.equal(kept, found[0], 'the same object where nothing changed')
  t.end()
})

t.test('servers reused from another list equal newly computed ones', (t) => {
  const random = seededRandom(23)
  const number = (below: number) => Math.floor(random() * below)
  const ids = Array.from({ length: 350 }, (_, index) => `r${String(index).padStart(3, '0')}`)
  for (const members of [ids, ids.toReversed(), [...ids, 'r007']]) {
    const group = backend('b', members)
    let records: readonly RealServer[] = ids.map((id) => realServer(id))
    for (let round = 0; round < 40; round++) {
      const changed = new Set(Array.from({ length: [0, 1, 3, 200][number(4)] ?? 0 }, () => ids[number(ids.length)]))
      const gone = ids[number(ids.length)]
      const back = ids.filter((id) => !records.some((real) => real.id === id)).map((id) => realServer(id))
      records = [...records.filter(({ id }) => id !== gone), ...back]
        .map((real) => (changed.has(real.id) ? { ...real, weight: number(100) } : real))
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      const next = viewWith(records)
      t.strictSame([...portionsOf(group, next)], [...portionsOf({ ...group }, next)])
    }
  }
  t.end()
})
