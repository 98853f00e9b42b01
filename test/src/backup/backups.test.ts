import t, { type Test } from 'tap'
import { Backups, KEPT_MAX } from '../../../src/backup/backups.ts'
import { silentLog } from '../../../src/base/log.ts'
import { InlinePool } from '../../../src/threads/worker-pool.ts'
import * as computeTasks from '../../../workers/compute.ts'
import { stillFacts } from '../../fixtures/appliance.ts'
import { SOME, sourceOf, textOf } from '../../fixtures/backup.ts'
import { refuses } from '../../fixtures/config.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { viewOf } from '../../fixtures/view.ts'

const TWO_MEMBERS = [
  { id: 'node-2', name: 'right' },
  { id: 'node-1', name: 'left' },
]

function fixture(test: Test, { isApplying = false, hasRoom = true, members = [] as typeof TWO_MEMBERS } = {}) {
  const clock = manualClock()
  const backups = new Backups({
    running: viewOf(SOME),
    agreed: viewOf(SOME),
    candidate: viewOf(SOME),
    born: 'node-1',
    nodeId: 'node-1',
    membership: { members: { all: () => members } },
    version: '0.1.0',
    stateFolder: temporaryFolder(test, 'backups'),
    leavesRoom: async () => hasRoom,
    compute: new InlinePool(computeTasks),
    facts: stillFacts(),
    engine: { isApplying },
    clock,
    log: silentLog,
  })
  return { backups, clock }
}

t.test('of the automatic ones the newest are kept', async (test) => {
  const { backups, clock } = fixture(test)
  for (let n = 0; n < KEPT_MAX.daily + 3; n += 1) {
    await backups.keep(backups.source(), 'daily')
    clock.advance(86_400_000)
  }
  await backups.keep(backups.source(), 'apply')
  const { auto, uploads } = await backups.list()
  test.same(uploads, [])
  test.equal(auto.length, KEPT_MAX.daily + 1)
  test.equal((await backups.automatic('daily')).length, KEPT_MAX.daily)
  test.match(auto[0], {
    file: /-apply\.json$/,
    sections: [{ name: 'rbac', nameFull: String, version: 3, partRestore: true }],
  })
  await backups.removeAll('auto')
  test.same((await backups.list()).auto, [])
})

t.test('backups made while the clock was ahead do not displace current ones', async (test) => {
  const { backups, clock } = fixture(test)
  const past = await backups.keep(backups.source(), 'apply')
  clock.advance(400 * 86_400_000)
  for (let n = 0; n < KEPT_MAX.apply; n += 1) await backups.keep(backups.source(), 'apply')
  clock.advance(-399 * 86_400_000)
  const kept: string[] = []
  for (let n = 0; n < 3; n += 1) kept.push(await backups.keep(backups.source(), 'apply'))
  const names = await backups.automatic('apply')
  test.equal(names.length, KEPT_MAX.apply)
  test.same(
    kept.filter((name) => !names.includes(name)),
    [],
  )
  test.notOk(names.includes(past), 'the oldest of those that are not ahead was deleted first')
})

t.test('an upload is stored unchanged, beside one of the same name', async (test) => {
  const { backups } = fixture(test)
  const text = textOf(sourceOf(SOME))
  test.equal(await backups.upload(text), 'lb-1-20260102-030405.json')
  test.equal(await backups.upload(text), 'lb-1-20260102-030405-2.json')
  await backups.removeAll('all')
  test.same((await backups.list()).uploads, [])
})

t.test('uploads are limited', async (test) => {
  const { backups } = fixture(test)
  const text = textOf(sourceOf({}))
  for (let n = 0; n < 50; n += 1) await backups.upload(text)
  const error = await refuses(test, 'INVALID_BODY', backups.upload(text))
  test.match(error.details.errors, [{ field: 'backup', code: 'TOO_MANY' }])
})

t.test('uploads leave the reserve of the disk free', async (test) => {
  const { backups } = fixture(test, { hasRoom: false })
  const error = await refuses(test, 'INVALID_BODY', backups.upload(textOf(sourceOf({}))))
  test.match(error.details.errors, [{ field: 'backup', code: 'NO_SPACE' }])
  test.same((await backups.list()).uploads, [])
  await backups.keep(backups.source(), 'daily')
  test.equal((await backups.list()).auto.length, 1, 'an automatic one is made as long as possible')
})

t.test('PAYLOAD_TOO_LARGE: more than 64 MiB', async (test) => {
  const { backups } = fixture(test)
  await refuses(test, 'PAYLOAD_TOO_LARGE', backups.upload('x'.repeat(64 * 1024 * 1024 + 1)))
})

t.test('APPLY_IN_PROGRESS: nothing is restored while an apply runs', async (test) => {
  const { backups } = fixture(test, { isApplying: true })
  const file = await backups.upload(textOf(sourceOf(SOME)))
  const restoration = await backups.opened({ file, sections: ['rbac'] }, undefined)
  await refuses(test, 'APPLY_IN_PROGRESS', restoration)
})

t.test('JOB_IN_PROGRESS: one file is opened for a restore at a time', async (test) => {
  const { backups } = fixture(test)
  const file = await backups.upload(textOf(sourceOf(SOME)))
  const open = () => backups.opened({ file, sections: ['rbac'] }, undefined)
  const first = open()
  const { details } = await refuses(test, 'JOB_IN_PROGRESS', open())
  test.match(details.headers, { 'Retry-After': '1' })
  test.match((await first)(), { contents: { users: SOME.users } })
  await refuses(test, 'NOT_FOUND', backups.opened({ file: 'nope' }, undefined))
  test.match((await open())(), { isFull: false }, 'also after a refusal')
})

t.test('NOT_FOUND: no such file', async (test) => {
  const { backups } = fixture(test)
  await refuses(test, 'NOT_FOUND', backups.opened({ file: 'nope' }, undefined))
  await refuses(test, 'NOT_FOUND', backups.remove('../config'))
})

t.test('a backup names all nodes of the cluster, this one first, by their names in the cluster', (test) => {
  const nodes = [
    { id: 'node-1', hostname: 'left' },
    { id: 'node-2', hostname: 'right' },
  ]
  test.same(fixture(test, { members: TWO_MEMBERS }).backups.source().nodes, nodes)
  test.match(fixture(test).backups.source().nodes, [{ id: 'node-1', hostname: String }])
  test.end()
})

t.test('IN_USE: a whole backup in a cluster, also one formed meanwhile; sections are staged', async (test) => {
  const members = [...TWO_MEMBERS]
  const { backups } = fixture(test, { members })
  const file = await backups.upload(textOf(sourceOf(SOME)))
  const error = await refuses(test, 'IN_USE', backups.opened({ file, nodeId: 'node-1' }, undefined))
  test.match(error.message, /name sections/)
  const parts = (await backups.opened({ file, sections: ['realServers'] }, undefined))()
  test.match(parts, { isFull: false, others: [] })
  members.length = 0
  const opened = await backups.opened({ file }, undefined)
  members.push(...TWO_MEMBERS)
  await refuses(test, 'IN_USE', opened)
})
