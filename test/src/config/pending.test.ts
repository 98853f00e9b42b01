import t from 'tap'
import { PendingChanges } from '../../../src/config/pending.ts'
import { createDrivers } from '../../../src/drivers/index.ts'
import { supervisedPaths } from '../../../src/drivers/haproxy/paths.ts'
import { backend, configFixture, frontend, realServer, user } from '../../fixtures/config.ts'

const drivers = createDrivers({ haproxy: supervisedPaths('/run/test'), stateFolder: '/state' }, 'node')

t.test('an update shows only the changed fields, with user and time', async (test) => {
  const { edit, promote, store } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  await promote()
  await edit((draft) => draft.section('realServers').merge('a', { weight: 5, state: 'drained' }))
  const { revision, changes } = await new PendingChanges(store, drivers, () => ['node-1']).list()
  test.equal(revision, 1)
  test.match(changes, [
    {
      op: 'update',
      resource: 'realServers',
      resourceId: 'a',
      name: 'a',
      by: 'tester@localhost',
      at: '2026-01-02T03:04:05.000Z',
    },
  ])
  test.same(changes[0]?.before, { weight: 100, state: 'online' })
  test.same(changes[0]?.after, { weight: 5, state: 'drained' })
})

t.test('secrets are masked, and a changed secret still shows as a change', async (test) => {
  const { edit, promote, store } = configFixture(test)
  await edit((draft) => draft.section('users').create(user('u')))
  const pending = new PendingChanges(store, drivers, () => ['node-1'])
  test.match((await pending.list()).changes, [{ op: 'create', before: null, after: { passwordHash: '**' } }])
  await promote()
  await edit((draft) => draft.section('users').merge('u', { passwordHash: 'other' }))
  test.same((await pending.list()).changes[0]?.after, { passwordHash: '**' })
  test.notMatch(JSON.stringify(await pending.list()), /argon2|other/)
})

t.test('creation and deletion show the whole record on one side', async (test) => {
  const { edit, promote, store } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  await promote()
  await edit((draft) => draft.section('realServers').remove('a'))
  test.match((await new PendingChanges(store, drivers, () => ['node-1']).list()).changes, [
    { op: 'delete', before: { id: 'a' }, after: null },
  ])
})

t.test('effect and services come from the drivers', async (test) => {
  const { edit, promote, store } = configFixture(test)
  await edit((draft) => {
    for (const id of ['a', 'unused']) draft.section('realServers').create(realServer(id))
    draft.section('l7Backends').create(backend('b', ['a']))
    draft.section('l7Frontends').create(frontend('f', 'b'))
  })
  await promote()
  await edit((draft) => {
    draft.section('realServers').merge('a', { weight: 9 })
    draft.section('realServers').merge('unused', { weight: 9 })
    draft.section('l7Frontends').merge('f', { ports: '8081' })
    draft.section('users').create(user('u'))
  })
  const effects = Object.fromEntries(
    (await new PendingChanges(store, drivers, () => ['node-1']).list()).changes.map(
      ({ resourceId, effect, services }) => [resourceId, [effect, ...services]],
    ),
  )
  test.same(effects, {
    a: ['runtime', 'layer7proxy'],
    unused: ['runtime'],
    f: ['reload', 'layer7proxy'],
    u: ['runtime'],
  })
})

t.test('the preview shows the diff of the generated file and the steps', async (test) => {
  const { edit, store } = configFixture(test)
  await edit((draft) => draft.section('l7Frontends').create(frontend('f', null)))
  const { files, steps } = await new PendingChanges(store, drivers, () => ['node-1']).preview()
  test.match(files, [{ path: '/run/test/haproxy.cfg', diff: /\+frontend f/ }])
  test.ok(steps.some((step) => step.kind === 'check'))
  test.ok(steps.every((step) => step.why.length > 0))
})

t.test('a review is consistent, also when more is staged meanwhile', async (test) => {
  const { edit, promote, store } = configFixture(test)
  await edit((draft) => {
    for (const id of ['a', 'b']) draft.section('realServers').create(realServer(id))
    draft.section('l7Backends').create(backend('g', ['a', 'b']))
  })
  await promote()
  await edit((draft) => draft.section('realServers').merge('a', { weight: 7 }))
  const pending = new PendingChanges(store, drivers, () => ['node-1'])
  const [first] = await Promise.all([
    pending.preview(),
    edit((draft) => draft.section('realServers').merge('b', { weight: 8 })),
  ])
  test.same(
    first.changes.map(({ resourceId }) => resourceId),
    ['a'],
  )
  test.match(first.files[0]?.diff, /weight 7/)
  test.notMatch(first.files[0]?.diff, /weight 8/)
})
