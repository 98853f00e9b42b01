import t from 'tap'
import type { Step } from '../../../src/drivers/driver.ts'
import { marksOf } from '../../../src/drivers/keepalived/marks.ts'
import type { Persistence } from '../../../src/model/persistence.ts'
import { createStickTables, durationText } from '../../../src/ipvs/stick-tables.ts'
import { l4Backend, l4Frontend, realServer } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

const running = viewOf({
  realServers: [realServer('r', { ip: '10.0.0.1', port: 80 })],
  l4Backends: [
    l4Backend('kept', ['r'], { persistTimeout: 300 }),
    l4Backend('masked', ['r'], { persistTimeout: 300, persistMask: '255.255.255.0' }),
    l4Backend('plain', ['r']),
  ],
  l4Frontends: [
    l4Frontend('fe', 'kept'),
    l4Frontend('net', 'masked', { ip: '192.0.2.11' }),
    l4Frontend('plain', 'plain', { ip: '192.0.2.12' }),
  ],
})
const marks = (id: string) => marksOf(running).get(id) ?? []
const [M0 = 0, M1 = 0, M2 = 0] = marks('fe')
const [N0 = 0, N1 = 0] = marks('net')
const template = (clientIp: string, mark: number, expires_s = 60) => ({ clientIp, mark, expires_s })

function fixture(facts: Persistence | undefined) {
  const commands: string[] = []
  const words: string[] = []
  const run = async (steps: readonly Step[]) => {
    for (const step of steps) if (step.kind === 'run') words.push(...step.argv)
    for (const step of steps) if (step.kind === 'run') commands.push(...(step.argv[1] ?? '').split('; '))
    return { isDryRun: false }
  }
  const tables = createStickTables({ running, facts: { persistence: async () => facts }, engine: { run } })
  return { tables, commands, words }
}

t.test('an entry names the client, the service and its expiry', async (test) => {
  const { tables } = fixture({ templates: [template('198.51.100.7', M0, 3723)], moved: [] })
  test.same(await tables.list('fe'), [
    {
      key: '198.51.100.7',
      mark: M0,
      expires: '1h 2m 3s',
      clientIp: '198.51.100.7',
      serviceIp: '192.0.2.10',
      servicePort: 80,
    },
  ])
  test.same(await tables.list('plain'), [], 'without persistence there are none')
})

t.test('a moved client has only its new entry', async (test) => {
  const moved = [{ client: '198.51.100.7/32', from: M0, to: M1 }]
  const { tables } = fixture({ templates: [template('198.51.100.7', M0), template('198.51.100.7', M1)], moved })
  test.match(await tables.list('fe'), [{ mark: M1 }])
})

t.test('clearing a key moves this client to a mark without entries', async (test) => {
  const first = fixture({ templates: [template('198.51.100.7', M0), template('198.51.100.8', M0)], moved: [] })
  await first.tables.clear('fe', '198.51.100.7')
  test.same(first.commands, [`add element inet fulcrum moved4 { 198.51.100.7/32 . ${M0} : ${M1} }`])

  const again = fixture({
    templates: [template('198.51.100.7', M0), template('198.51.100.7', M1)],
    moved: [{ client: '198.51.100.7/32', from: M0, to: M1 }],
  })
  await again.tables.clear('fe', '198.51.100.7')
  test.same(again.commands, [
    `delete element inet fulcrum moved4 { 198.51.100.7/32 . ${M0} : ${M1} }`,
    `add element inet fulcrum moved4 { 198.51.100.7/32 . ${M0} : ${M2} }`,
  ])

  const home = fixture({
    templates: [template('198.51.100.7', M1)],
    moved: [{ client: '198.51.100.7/32', from: M0, to: M1 }],
  })
  await home.tables.clear('fe', '198.51.100.7')
  test.same(home.commands, [`delete element inet fulcrum moved4 { 198.51.100.7/32 . ${M0} : ${M1} }`])
})

t.test('clearing the table moves every client, a network as one', async (test) => {
  const { tables, commands } = fixture({
    templates: [template('198.51.100.0', N0), template('203.0.113.0', N0)],
    moved: [{ client: '192.0.2.0/24', from: N0, to: N1 }],
  })
  await tables.clear('net', undefined)
  test.same(commands, [
    `add element inet fulcrum moved4 { 198.51.100.0/24 . ${N0} : ${N1} }`,
    `add element inet fulcrum moved4 { 203.0.113.0/24 . ${N0} : ${N1} }`,
    `delete element inet fulcrum moved4 { 192.0.2.0/24 . ${N0} : ${N1} }`,
  ])
})

t.test('clients that cannot be moved now do not block the others', async (test) => {
  const stuck = [M0, M1, M2].map((mark) => template('198.51.100.7', mark))
  const { tables, commands } = fixture({ templates: [...stuck, template('198.51.100.8', M0)], moved: [] })
  test.match(await tables.clear('fe', undefined), { left: 1 })
  test.same(commands, [`add element inet fulcrum moved4 { 198.51.100.8/32 . ${M0} : ${M1} }`])
})

t.test('many clients are moved in several calls', async (test) => {
  const templates = Array.from({ length: 1_200 }, (_, at) => template(`10.9.${at >> 8}.${at & 255}`, M0))
  const { tables, commands } = fixture({ templates, moved: [] })
  await tables.clear('fe', undefined)
  test.equal(commands.length, 1_200)
})

t.test('no call is longer than Linux allows, however many clients are cleared meanwhile', async (test) => {
  const moved = Array.from({ length: 3_000 }, (_, at) => ({
    client: `10.9.${at >> 8}.${at & 255}/32`,
    from: M0,
    to: M1,
  }))
  const { tables, commands, words } = fixture({ templates: [template('198.51.100.7', M0)], moved })
  await tables.clear('fe', '198.51.100.7')
  test.equal(commands.length, 3_001)
  // MAX_ARG_STRLEN of the kernel.
  test.ok(words.every((word) => Buffer.byteLength(word) < 131_072))
})

t.test('NOT_FOUND, NOT_SUPPORTED and IN_USE', async (test) => {
  const { tables, commands } = fixture({
    templates: [M0, M1, M2].map((mark, at) => template('198.51.100.7', mark, 10 * (at + 1))),
    moved: [{ client: '198.51.100.7/32', from: M0, to: M2 }],
  })
  await test.rejects(tables.list('nothing'), { code: 'NOT_FOUND' })
  await test.rejects(tables.clear('fe', '198.51.100.9'), { code: 'NOT_FOUND' })
  await test.rejects(tables.clear('fe', '198.51.100.7'), { code: 'IN_USE', message: /try again in 10s/ })
  test.same(commands, [])
  await test.rejects(fixture(undefined).tables.list('fe'), { code: 'NOT_SUPPORTED' })
})

t.test('durations', async (test) => {
  test.equal(durationText(0), '0s')
  test.equal(durationText(86_400), '1d')
  test.equal(durationText(90_061), '1d 1h 1m 1s')
})
