import t from 'tap'
import { amendBetween, amendRecord } from '../../../src/config/amend-record.ts'
import { configView } from '../../../src/config/views.ts'
import { configFixture, user } from '../../config-fixture.ts'

t.test(
  'a record is changed at once and those who have to know are told; a wrong one is refused whole',
  async (test) => {
    const { store, edit, promote } = configFixture(test)
    await edit((draft) => draft.section('users').create(user('u', { firstName: 'Old' })))
    await promote()
    const told: unknown[] = []
    const parts = { store, onPromoted: (changes: readonly unknown[]) => void told.push(...changes) }
    await amendRecord(parts, 'users', 'u', (now) => ({ firstName: `${now?.firstName} and new` }), store)
    test.equal(configView(store.running).get('users', 'u')?.firstName, 'Old and new')
    test.match(told, [{ id: 'u', before: { firstName: 'Old' }, after: { firstName: 'Old and new' } }])
    await test.rejects(amendRecord(parts, 'users', 'u', () => ({ firstName: 5 as never }), store))
    test.equal(configView(store.running).get('users', 'u')?.firstName, 'Old and new')
  },
)

t.test('it waits for an apply, and lets edits go on meanwhile', async (test) => {
  const { store, editing } = configFixture(test)
  const engine = { busy: true, idle: async () => void (engine.busy = false) }
  let tries = 0
  const between: typeof editing.between = (work) => {
    // An apply begins while this waits for its turn, once.
    if (++tries === 1) engine.busy = true
    return editing.between(work)
  }
  let writers = 0
  await amendBetween(engine, { between }, async (writer) => {
    writers += 1
    test.not(writer, store, 'in the turn that it holds')
  })
  test.same([tries, writers], [2, 1])
})
