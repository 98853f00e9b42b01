import t from 'tap'
import { backend, configFixture, frontend, realServer, refuses } from '../../fixtures/config.ts'

t.test('an id in use is refused', async (test) => {
  const { edit } = configFixture(test)
  await edit((draft) => draft.section('groups').create({ id: 'g', name: 'one', roles: [] }))
  await refuses(
    test,
    'ID_NOT_UNIQUE',
    edit((draft) => draft.section('groups').create({ id: 'g', name: 'two', roles: [] })),
  )
})

t.test('a name in use is refused, in any case, and the message contains it', async (test) => {
  const { edit } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a', { name: 'Web' })))
  const error = await refuses(
    test,
    'NAME_NOT_UNIQUE',
    edit((draft) => draft.section('realServers').create(realServer('b', { name: 'wEB' }))),
  )
  test.match(error.details.errors, [{ field: 'name' }])
  await edit((draft) => draft.section('realServers').create(realServer('b')))
  await refuses(
    test,
    'NAME_NOT_UNIQUE',
    edit((draft) => draft.section('realServers').merge('b', { name: 'web' })),
  )
  await edit((draft) => draft.section('realServers').merge('a', { name: 'WEB' }))
})

t.test('a name is searched in running and pending records', async (test) => {
  const { edit, promote } = configFixture(test)
  for (const [id, name] of Object.entries({ a: 'one', b: 'two' }))
    await edit((draft) => draft.section('realServers').create(realServer(id, { name })))
  await promote()
  const create = (id: string, name: string) =>
    edit((draft) => draft.section('realServers').create(realServer(id, { name })))
  const isTaken = (id: string, name: string) => refuses(test, 'NAME_NOT_UNIQUE', create(id, name))
  await isTaken('c', 'ONE')
  await edit((draft) => draft.section('realServers').put(realServer('a', { name: 'three', weight: 7 })))
  await isTaken('c', 'Three')
  await create('c', 'one')
  await edit((draft) => draft.section('realServers').remove('b'))
  await create('d', 'TWO')
  await isTaken('e', 'two')
  await promote()
  for (const name of ['one', 'two', 'three']) await isTaken('e', name)
  await edit((draft) => draft.section('realServers').put(realServer('a', { name: 'three', weight: 8 })))
  await refuses(
    test,
    'NAME_NOT_UNIQUE',
    edit((draft) => draft.section('realServers').put(realServer('a', { name: 'Two' }))),
  )
})

t.test('every reference to a missing record is reported at once', async (test) => {
  const { edit, store } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  const error = await refuses(
    test,
    'INVALID_BODY',
    edit((draft) => draft.section('l7Backends').create(backend('b', ['x', 'a', 'y']))),
  )
  test.same(
    error.details.errors?.map((entry) => entry.field),
    ['reals.0.ripId', 'reals.2.ripId'],
  )
  test.equal(store.changes().length, 1)
})

t.test('a record in use cannot be removed, and data.usage names its users', async (test) => {
  const { edit } = configFixture(test)
  await edit((draft) => {
    draft.section('realServers').create(realServer('a', { name: 'web 1' }))
    draft.section('l7Backends').create({ ...backend('b', ['a']), name: 'web' })
    draft.section('l7Frontends').create(frontend('f', 'b'))
  })
  const error = await refuses(
    test,
    'IN_USE',
    edit((draft) => draft.section('realServers').remove('a')),
  )
  test.equal(error.message, 'The real server web 1 (a) is used by Layer 7 backend web (b)')
  test.match(error.details.data, { usage: [{ resource: 'l7Backends', id: 'b', field: 'reals.0.ripId' }] })
  await refuses(
    test,
    'IN_USE',
    edit((draft) => draft.section('l7Backends').remove('b')),
  )
})

t.test('a reference to a running record that the candidate lacks gives its name', async (test) => {
  const { edit, promote } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a', { name: 'web 1' })))
  await promote()
  await edit((draft) => draft.section('realServers').remove('a'))
  const error = await refuses(
    test,
    'INVALID_BODY',
    edit((draft) => draft.section('l7Backends').create(backend('b', ['a', 'gone']))),
  )
  test.same(
    error.details.errors?.map(({ message }) => message),
    ['the real server web 1 (a) is deleted by a pending change', 'there is no real server with id gone'],
  )
})

t.test('a name in use is refused with the record that has it', async (test) => {
  const { edit } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a', { name: 'web 1' })))
  const error = await refuses(
    test,
    'NAME_NOT_UNIQUE',
    edit((draft) => draft.section('realServers').create(realServer('b', { name: 'WEB 1' }))),
  )
  test.equal(error.message, 'The name is already taken by the real server web 1 (a)')
})

t.test('one request that removes the user of a record and then the record is fine', async (test) => {
  const { edit, store } = configFixture(test)
  await edit((draft) => {
    draft.section('realServers').create(realServer('a'))
    draft.section('l7Backends').create(backend('b', ['a']))
  })
  await edit((draft) => {
    draft.section('l7Backends').remove('b')
    draft.section('realServers').remove('a')
  })
  test.same(store.changes(), [])
})

t.test('a request that is refused midway leaves nothing behind', async (test) => {
  const { edit, store } = configFixture(test)
  await refuses(
    test,
    'NOT_FOUND',
    edit((draft) => {
      draft.section('realServers').create(realServer('a'))
      draft.section('realServers').remove('missing')
    }),
  )
  test.same(store.candidate.list('realServers', ''), [])
})

t.test('a stale If-Match is refused; the current one and * are accepted', async (test) => {
  const { edit, store } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  const etag = `"${store.candidate.get('realServers', '', 'a')?.revision}"`
  await edit((draft) => draft.section('realServers').merge('a', { weight: 5 }), etag)
  const error = await refuses(
    test,
    'REVISION_MISMATCH',
    edit((draft) => draft.section('realServers').merge('a', { weight: 6 }), etag),
  )
  test.match(error.details.data, { sent: etag })
  await edit((draft) => draft.section('realServers').merge('a', { weight: 7 }), '*')
  await refuses(
    test,
    'REVISION_MISMATCH',
    edit((draft) => draft.section('realServers').remove('a'), etag),
  )
  test.match(store.candidate.get('realServers', '', 'a')?.value, { weight: 7 })
})

t.test('undefined keeps what is stored, null clears it', async (test) => {
  const { edit, store } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a', { port: 80, weight: 3 })))
  await edit((draft) => draft.section('realServers').merge('a', { port: null, weight: undefined }))
  test.match(store.candidate.get('realServers', '', 'a')?.value, { port: null, weight: 3 })
})

t.test('a record that breaks its schema is a defect, not a refusal', async (test) => {
  const { edit } = configFixture(test)
  await test.rejects(
    edit((draft) => draft.section('realServers').create(realServer('a', { weight: 1.5 }))),
    /does not match its schema/,
  )
})

t.test('parallel edits run one after another', async (test) => {
  const { edit } = configFixture(test)
  const sameName = (id: string) => edit((draft) => draft.section('realServers').create(realServer(id, { name: 'one' })))
  const results = await Promise.allSettled([sameName('a'), sameName('b'), sameName('c')])
  test.equal(results.filter((result) => result.status === 'fulfilled').length, 1)
})
