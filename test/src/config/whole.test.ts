import t from 'tap'
import { RECORDS_MAX, refuseBroken, replacements } from '../../../src/config/whole.ts'
import type { SectionContents } from '../../../src/model/sections.ts'
import { ANYTHING, backend, configFixture, realServer, refuses } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

t.test('only differences are written', async (test) => {
  const view = viewOf({ realServers: [realServer('a'), realServer('b'), realServer('c')] })
  const writes = [
    ...replacements(view, { realServers: [realServer('a'), realServer('b', { weight: 5 }), realServer('d')] }),
  ]
  test.match(writes, [
    { section: 'realServers', key: 'b', value: { weight: 5 } },
    { section: 'realServers', key: 'd' },
    { section: 'realServers', key: 'c', value: undefined },
  ])
  test.equal(writes.length, 3)
})

t.test('every problem of an incomplete configuration is named at once', async (test) => {
  const broken = viewOf({
    realServers: [realServer('a'), realServer('b', { name: 'A' })],
    l7Backends: [backend('be', ['gone'])],
  })
  const error = await refuses(test, 'INVALID_BODY', refuseBroken(broken))
  test.same(
    error.details.errors?.map(({ field }) => field),
    ['realServers.b.name', 'l7Backends.be.reals.0.ripId'],
  )
})

t.test('a draft restores whole sections, or nothing', async (test) => {
  const { edit, promote, store } = configFixture(test)
  await edit((draft) => {
    draft.section('realServers').create(realServer('a'))
    draft.section('l7Backends').create(backend('be', ['a']))
  })
  await promote()
  await refuses(
    test,
    'INVALID_BODY',
    edit((draft) => draft.rewrite(replacements(draft.view, { realServers: [] }))),
  )
  test.same(store.changes(), [])
  await edit((draft) =>
    draft.rewrite(replacements(draft.view, { realServers: [realServer('z')], l7Backends: [backend('be', ['z'])] })),
  )
  test.same(
    store
      .changes()
      .map(({ key, after }) => `${key} ${after === undefined ? 'gone' : 'there'}`)
      .toSorted((a, b) => a.localeCompare(b)),
    ['a gone', 'be there', 'z there'],
  )
})

t.test('a number of records that would block all others is refused with the numbers', async (test) => {
  const one = realServer('a')
  const first = (contents: SectionContents) => replacements(viewOf({}), contents).next()
  test.match(first({ realServers: Array.from({ length: RECORDS_MAX }, () => one) }).value, { key: 'a' })
  const error = await refuses(test, 'INVALID_BODY', () =>
    first({ realServers: Array.from({ length: RECORDS_MAX }, () => one), l7Backends: [backend('b', [])] }),
  )
  test.match(error.details.errors, [{ code: 'TOO_MANY', message: /100001 records/ }])
})

t.test('a hundred thousand pending changes are discarded like one', async (test) => {
  const { edit, store } = configFixture(test)
  const many = Array.from({ length: 130_000 }, (_, n) => ({ id: `${n}`, section: 'realServers', actor: 'a@b' }))
  test.intercept(store, 'staged', { value: () => many })
  // tap records the source of each read of an intercepted property, and this one is read for every change.
  Object.defineProperty(store, 'isFrozen', { value: () => false })
  await edit((draft) => {
    draft.discard('all', ANYTHING)
    test.equal(draft.discarded.length, 130_000)
  })
})
