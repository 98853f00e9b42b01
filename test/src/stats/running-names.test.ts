import t from 'tap'
import { configView } from '../../../src/config/views.ts'
import type { ConfigView } from '../../../src/model/sections.ts'
import { RunningNames } from '../../../src/stats/running-names.ts'
import { backend, configFixture, frontend, l4Backend, l4Frontend, realServer } from '../../fixtures/config.ts'

t.test('names of running, and the backends of a real server', async (test) => {
  const { edit, promote, store } = configFixture(test)
  const names = new RunningNames(configView(store.running), () => store.revision)
  await edit((draft) => {
    for (const id of ['a', 'b', 'c']) draft.section('realServers').create(realServer(id, { name: `server ${id}` }))
    draft.section('l7Backends').create(backend('x', ['a', 'b'], { name: 'shop' }))
    draft.section('l7Backends').create(backend('y', ['b'], { name: 'blog' }))
    draft.section('l7Frontends').create(frontend('f', 'x', { name: 'www' }))
  })
  test.same([...names.frontends()], [], 'a staged record has no name yet')
  await promote()
  test.same([...names.frontends()], [{ id: 'f', name: 'www' }])
  test.same(names.frontend('f'), { id: 'f', name: 'www' })
  test.equal(names.frontend('x'), undefined)
  test.same(
    [...names.backends()].map(({ name }) => name),
    ['shop', 'blog'],
  )
  test.same(names.backend('x'), {
    id: 'x',
    name: 'shop',
    reals: [
      { ripId: 'a', name: 'server a' },
      { ripId: 'b', name: 'server b' },
    ],
  })
  test.same(
    names.backendsOfRip('b')?.map(({ name }) => name),
    ['shop', 'blog'],
  )
  test.same(names.backendsOfRip('c'), [], 'in no backend')
  test.equal(names.backendsOfRip('z'), undefined, 'no such real server')
})

t.test('running is read once per revision', async (test) => {
  const { edit, promote, store } = configFixture(test)
  const view = configView(store.running)
  const reads: string[] = []
  const counting: ConfigView = {
    get: (section, id) => view.get(section, id),
    list(section) {
      reads.push(section)
      return view.list(section)
    },
  }
  const names = new RunningNames(counting, () => store.revision)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  await promote()
  test.equal(names.version, 1)
  for (const _ of [1, 2, 3]) test.same(names.backendsOfRip('a'), [])
  test.same(reads.toSorted(), ['l7Backends', 'l7Frontends', 'realServers'])
  await edit((draft) => draft.section('l7Backends').create(backend('x', ['a'])))
  test.same(names.backendsOfRip('a'), [])
  await promote()
  test.equal(names.version, 2)
  test.match(names.backendsOfRip('a'), [{ id: 'x' }])
  test.equal(reads.length, 6)
})

t.test('the version stays while names and members do', async (test) => {
  const { edit, promote, store } = configFixture(test)
  const names = new RunningNames(configView(store.running), () => store.revision)
  const change = async (work: Parameters<typeof edit>[0]) => {
    await edit(work)
    await promote()
    return names.version
  }
  const first = await change((draft) => {
    for (const id of ['a', 'b']) draft.section('realServers').create(realServer(id))
    draft.section('l7Backends').create(backend('x', ['a', 'b']))
    draft.section('l7Frontends').create(frontend('f', 'x'))
  })
  const kept = names.backend('x')
  const { states } = names
  test.equal(await change((draft) => draft.section('realServers').merge('a', { weight: 7 })), first)
  test.equal(await change((draft) => draft.section('l7Frontends').merge('f', { timeoutClient: 7 })), first)
  const members = [{ ripId: 'a', weight: 3 }, { ripId: 'b' }]
  test.equal(await change((draft) => draft.section('l7Backends').merge('x', { reals: members })), first)
  test.equal(names.backend('x'), kept)
  test.equal(names.states, states)
  test.equal(await change((draft) => draft.section('realServers').merge('a', { state: 'drained' })), first)
  test.ok(names.states > states, 'states have their own version')
  let version = first
  const changes: readonly Parameters<typeof edit>[0][] = [
    (draft) => draft.section('realServers').merge('a', { name: 'new' }),
    (draft) => draft.section('realServers').create(realServer('c')),
    (draft) => draft.section('l7Backends').merge('x', { name: 'new' }),
    (draft) => draft.section('l7Backends').merge('x', { reals: [{ ripId: 'b' }, { ripId: 'a' }] }),
    (draft) => draft.section('l7Backends').merge('x', { reals: [{ ripId: 'c' }] }),
    (draft) => draft.section('l7Frontends').merge('f', { name: 'new' }),
    (draft) => draft.section('l7Frontends').remove('f'),
  ]
  for (const each of changes) {
    const next = await change(each)
    test.ok(next > version)
    version = next
  }
  test.match(names.backend('x'), { name: 'new', reals: [{ ripId: 'c', name: 'c' }] })
})

t.test('each layer has its own names, for the same real servers', async (test) => {
  const { edit, promote, store } = configFixture(test)
  const names = ([4, 7] as const).map(
    (layer) => new RunningNames(configView(store.running), () => store.revision, layer),
  )
  await edit((draft) => {
    draft.section('realServers').create(realServer('a', { name: 'server a' }))
    draft.section('l7Backends').create(backend('x', ['a'], { name: 'shop' }))
    draft.section('l4Backends').create(l4Backend('y', ['a'], { name: 'mail' }))
    draft.section('l4Frontends').create(l4Frontend('f', 'y', { name: 'smtp' }))
  })
  await promote()
  test.same(
    names.map((layer) => (layer.backendsOfRip('a') ?? []).map(({ name }) => name)),
    [['mail'], ['shop']],
  )
  test.same(
    names.map((layer) => [...layer.frontends()].length),
    [1, 0],
  )
})
