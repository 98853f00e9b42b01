import t from 'tap'
import { wentLive } from '../../../src/config/went-live.ts'
import type { Change } from '../../../storage/config/config-store.ts'

const change = (n: number, name = `web${n}`): Change => ({
  section: 'realServers',
  scope: '',
  key: `r${n}`,
  id: `c${n}`,
  revision: 1,
  actor: 'olga@example.org',
  endpoint: 'realServers.create',
  at: '2026-01-01T00:00:00.000Z',
  before: undefined,
  after: { revision: 1, value: { id: `r${n}`, name, ip: '192.0.2.1', port: 1, weight: 1, state: 'online' } },
})

t.test('each record with its name, its change and its last author', async (test) => {
  test.same(wentLive(7, [change(1)]), {
    revision: 7,
    told: [{ op: 'create', resource: 'realServers', resourceId: 'r1', name: 'web1', by: 'olga@example.org' }],
    more: 0,
  })
})

t.test('of many the first are listed, and long texts are truncated', async (test) => {
  const many = wentLive(7, [change(0, 'n'.repeat(500)), ...Array.from({ length: 10_000 }, (_, n) => change(n + 1))])
  test.equal(many.told.length, 20)
  test.equal(many.more, 9_981)
  test.equal(many.told[0]?.name.length, 120)
  test.ok(JSON.stringify(many).length < 8_192, 'an entry stays small')
})
