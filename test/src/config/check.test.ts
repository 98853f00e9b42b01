import t from 'tap'
import { checkConfig } from '../../../src/config/check.ts'
import { backend, configFixture, realServer } from '../../fixtures/config.ts'
import { stageIn } from '../../fixtures/entries.ts'

t.test('a configuration made through drafts is whole', async (test) => {
  const { edit, promote, store } = configFixture(test)
  await edit((draft) => {
    draft.section('realServers').create(realServer('a'))
    draft.section('l7Backends').create(backend('b', ['a']))
  })
  test.same(checkConfig(store), [])
  await promote()
  await edit((draft) => draft.section('realServers').merge('a', { weight: 2 }))
  test.same(checkConfig(store), [])
})

t.test('records that do not fit, share a name or refer to nothing are found', async (test) => {
  const { store, promote } = configFixture(test)
  const origin = { actor: 'x', endpoint: 'x', at: '2026-01-02T03:04:05.000Z' }
  const write = (section: string, key: string, value: unknown) =>
    stageIn(store, [{ section, scope: '', key, value }], origin)
  await write('realServers', 'a', realServer('a', { name: 'same' }))
  await write('realServers', 'b', realServer('b', { name: 'SAME' }))
  await write('realServers', 'c', { id: 'c' })
  await write('l7Backends', 'd', backend('d', ['missing']))
  await promote()
  const problems = checkConfig(store).filter((problem) => problem.startsWith('running'))
  test.equal(problems.length, 3)
  test.match(problems.join('\n'), /two records of realServers are named same/)
  test.match(problems.join('\n'), /does not match its schema/)
  test.match(problems.join('\n'), /missing, which does not exist/)
})
