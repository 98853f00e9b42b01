import { replacements } from '../../../src/config/whole.ts'
import t, { type Test } from 'tap'
import { Revisions } from '../../../src/config/revisions.ts'
import { backend, configFixture, realServer, refuses, user } from '../../fixtures/config.ts'
import { amendIn } from '../../fixtures/entries.ts'

/** Revision 1 creates a and b, 2 changes a, 3 removes b and creates c, 4 reverts the change of a. */
async function fixture(test: Test) {
  const { store, edit, promote } = configFixture(test)
  const apply = async (work: Parameters<typeof edit>[0]) => {
    await edit(work)
    await promote()
  }
  await apply((draft) => {
    draft.section('realServers').create(realServer('a'))
    draft.section('realServers').create(realServer('b'))
  })
  await apply((draft) => draft.section('realServers').merge('a', { weight: 5 }))
  await apply((draft) => {
    draft.section('realServers').remove('b')
    draft.section('realServers').create(realServer('c'))
    draft.section('l7Backends').create(backend('be', ['c']))
  })
  await apply((draft) => draft.section('realServers').merge('a', { weight: 100 }))
  return { store, edit, revisions: new Revisions(store) }
}

t.test('applies are listed, newest first', async (test) => {
  const { revisions } = await fixture(test)
  test.match(revisions.list(10, undefined), [
    { revision: 4, by: 'tester', count: 1 },
    { revision: 3, count: 3 },
    { revision: 2 },
    { revision: 1, count: 2 },
  ])
  test.match(revisions.list(1, 3), [{ revision: 2 }])
  test.notOk('changes' in (revisions.list(1, undefined)[0] ?? {}))
})

t.test('any two are compared, in either direction', async (test) => {
  const { revisions } = await fixture(test)
  const ops = async (a: number, b: number) =>
    (await revisions.diff(a, b))
      .map(({ op, resourceId }) => `${op} ${resourceId}`)
      .toSorted((x, y) => x.localeCompare(y))
  test.same(await ops(1, 2), ['update a'])
  test.same(await ops(2, 1), ['update a'])
  test.match(await revisions.diff(2, 1), [{ before: { weight: 5 }, after: { weight: 100 } }])
  test.same(await ops(1, 4), ['create be', 'create c', 'delete b'], 'a is as it was')
  test.same(await ops(4, 1), ['create b', 'delete be', 'delete c'])
  test.same(await ops(0, 4), ['create a', 'create be', 'create c'])
  test.same(await ops(3, 3), [])
})

t.test('the contents of each revision are those that were applied', async (test) => {
  const { revisions, edit, store } = await fixture(test)
  const weights = async (revision: number) =>
    (await revisions.contents(revision)).realServers
      ?.map(({ id, weight }) => `${id} ${weight}`)
      .toSorted((x, y) => x.localeCompare(y))
  test.same(await weights(0), [])
  test.same(await weights(1), ['a 100', 'b 100'])
  test.same(await weights(2), ['a 5', 'b 100'])
  test.same(await weights(3), ['a 5', 'c 100'])
  test.same(await weights(4), ['a 100', 'c 100'])
  const contents = await revisions.contents(2)
  await edit((draft) => draft.rewrite(replacements(draft.view, contents)))
  test.same(
    store
      .changes()
      .map(({ key }) => key)
      .toSorted((x, y) => x.localeCompare(y)),
    ['a', 'b', 'be', 'c'],
  )
})

t.test('a revision that never existed, or is no longer kept, is not found', async (test) => {
  const { revisions } = await fixture(test)
  for (const wrong of [5, -1, 1.5, Number.NaN]) {
    await refuses(test, 'NOT_FOUND', revisions.contents(wrong))
    await refuses(test, 'NOT_FOUND', revisions.diff(1, wrong))
  }
})

t.test('a password changed since stays when an earlier revision is restored', async (test) => {
  const { store, edit, promote } = configFixture(test)
  await edit((draft) => draft.section('users').create(user('u', { firstName: 'One', passwordHash: 'old' })))
  await promote()
  await edit((draft) => draft.section('users').merge('u', { firstName: 'Two' }))
  await promote()
  await amendIn(store, { section: 'users', scope: '', key: 'u' }, { passwordHash: 'new' })
  test.match((await new Revisions(store).contents(1)).users, [{ firstName: 'One', passwordHash: 'new' }])
})
