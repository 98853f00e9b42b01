import t from 'tap'
import { createLog } from '../../../src/base/log.ts'
import type { Records } from '../../fixtures/view.ts'
import { viewOf } from '../../fixtures/view.ts'
import { backend, realServer } from '../../fixtures/config.ts'
import { NameWatch } from '../../../src/watches/name-watch.ts'

function fixture(records: Records) {
  const told: object[] = []
  /** By backend and server: HAProxy's address for it; absent when HAProxy does not answer. */
  const addresses = new Map<string, string>()
  const state = { view: viewOf(records), revision: 1 }
  const watch = new NameWatch({
    running: { get: (...of) => state.view.get(...of), list: (of) => state.view.list(of) },
    revision: () => state.revision,
    figure: (key, column) => {
      const address = addresses.get(key.replaceAll('\0', ' '))
      return column === 'status' ? address && 'UP' : address?.trim() || undefined
    },
    events: { publish: (kind, data) => void told.push({ kind, ...data }) },
    log: createLog(() => undefined),
  })
  const look = (...answers: readonly (string | undefined)[]) => {
    for (const address of answers) {
      if (address === undefined) addresses.delete('server b r')
      else addresses.set('server b r', address === '' ? ' ' : address)
      watch.look()
    }
    return told.splice(0)
  }
  return { look, state }
}

const NAMED = realServer('r', { name: 'web', ip: 'web.test' })
const SITE = { realServers: [NAMED, realServer('s')], l7Backends: [backend('b', ['r', 's'])] }
const EVENT = {
  kind: 'realServer',
  id: 'r',
  name: 'web',
  backendId: 'b',
  backendName: 'b',
  host: 'web.test',
}

t.test('another address is reported, with the previous one', (t) => {
  const { look } = fixture(SITE)
  t.same(look('192.0.2.1:80', '192.0.2.1:80'), [], 'the first one is not reported')
  t.same(look('192.0.2.2:80'), [{ ...EVENT, state: 'resolved', address: '192.0.2.2', before: '192.0.2.1' }])
  t.same(look('[2001:db8::1]:80'), [{ ...EVENT, state: 'resolved', address: '2001:db8::1', before: '192.0.2.2' }])
  t.same(look(undefined, '[2001:db8::1]:80'), [], 'HAProxy did not answer')
  t.end()
})

t.test('a name that leads nowhere is reported at the second look, and its recovery', (t) => {
  const { look } = fixture(SITE)
  t.same(look('192.0.2.1:80', '', '192.0.2.1:80'), [], 'a moment')
  t.same(look('', ''), [{ ...EVENT, state: 'unresolved', address: null, before: '192.0.2.1' }])
  t.same(look(''), [])
  t.same(look('192.0.2.1:80'), [{ ...EVENT, state: 'resolved', address: '192.0.2.1', before: null }])
  t.end()
})

t.test('one that was never resolved is reported, but not in its first moment', (t) => {
  const { look } = fixture(SITE)
  t.same(look('', '192.0.2.1:80'), [])
  const other = fixture(SITE)
  t.same(other.look('', ''), [{ ...EVENT, state: 'unresolved', address: null, before: null }])
  t.same(other.look('192.0.2.1:80'), [{ ...EVENT, state: 'resolved', address: '192.0.2.1', before: null }])
  t.end()
})

t.test('an edit of the name, or of an address, is no event', (t) => {
  const { look, state } = fixture(SITE)
  look('192.0.2.1:80')
  state.view = viewOf({ ...SITE, realServers: [{ ...NAMED, ip: 'other.test' }] })
  state.revision += 1
  t.same(look('192.0.2.9:80'), [])
  state.view = viewOf({ ...SITE, realServers: [{ ...NAMED, ip: '192.0.2.10' }] })
  state.revision += 1
  t.same(look('192.0.2.10:80', '192.0.2.11:80'), [])
  t.end()
})

t.test('of very many names each has its turn', (t) => {
  const ids = Array.from({ length: 2500 }, (_, at) => `r${at}`)
  const asked = new Map<string, number>()
  const watch = new NameWatch({
    running: viewOf({
      realServers: ids.map((id) => realServer(id, { ip: `${id}.test` })),
      l7Backends: [backend('b', ids)],
    }),
    revision: () => 1,
    figure: (key, column) => {
      if (column === 'addr') asked.set(key, (asked.get(key) ?? 0) + 1)
      return '192.0.2.1:80'
    },
    events: { publish: () => undefined },
    log: createLog(() => undefined),
  })
  for (let looks = 0; looks < 5; looks++) watch.look()
  t.equal(asked.size, 2500)
  t.ok([...asked.values()].every((times) => times === 2))
  t.end()
})
