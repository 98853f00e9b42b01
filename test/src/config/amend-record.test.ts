import t from 'tap'
import { amendRecord } from '../../../src/config/amend-record.ts'
import { configView } from '../../../src/config/views.ts'
import { configFixture, user } from '../../fixtures/config.ts'

t.test('a record is changed at once and its listeners are called; a wrong one is refused whole', async (test) => {
  const { store, edit, promote } = configFixture(test)
  await edit((draft) => draft.section('users').create(user('u', { firstName: 'Old' })))
  await promote()
  const told: unknown[] = []
  const onPromoted = (changes: readonly unknown[]) => void told.push(...changes)
  const parts = { store, onPromoted, engine: { busy: false, idle: async () => undefined } }
  await amendRecord(parts, 'users', 'u', (now) => ({ firstName: `${now?.firstName} and new` }))
  test.equal(configView(store.running).get('users', 'u')?.firstName, 'Old and new')
  test.match(told, [{ id: 'u', before: { firstName: 'Old' }, after: { firstName: 'Old and new' } }])
  await test.rejects(amendRecord(parts, 'users', 'u', () => ({ firstName: 5 as never })))
  test.equal(configView(store.running).get('users', 'u')?.firstName, 'Old and new')
})

t.test('it waits for an apply, and allows edits meanwhile', async (test) => {
  const { store, edit, promote } = configFixture(test)
  await edit((draft) => draft.section('users').create(user('u')))
  await promote()
  let waited = 0
  const engine = {
    busy: false,
    idle: async () => {
      waited++
      // An apply begins while this waits for its turn, once.
      engine.busy = waited === 1
    },
  }
  const asked: (string | undefined)[] = []
  const meanwhile = edit((draft) => draft.section('users').merge('u', { firstName: 'Edited' }))
  await amendRecord({ store, onPromoted: () => undefined, engine }, 'users', 'u', (now) => {
    asked.push(now?.lastName)
    return { lastName: 'Amended' }
  })
  await meanwhile
  test.same([waited, asked], [2, ['B']], 'no call while the apply runs')
  test.match(store.candidate.get('users', '', 'u')?.value, { firstName: 'Edited', lastName: 'Amended' })
})
