import t from 'tap'
import type { Problem } from '../../../src/model/problem.ts'
import { configView } from '../../../src/config/views.ts'
import { verifyAll } from '../../../src/config/verify-all.ts'
import { openStore, refusalOf, refuses } from '../../fixtures/config.ts'

t.test('problems of all rules and parts of the daemon are reported together', async (test) => {
  const store = openStore(test)
  const view = configView(store.running)
  const found = (message: string): readonly Problem[] => [
    { section: undefined, id: undefined, field: undefined, message },
  ]
  const own = [{ verify: async () => found('own'), enact: async () => undefined }]
  const parts = { store, drivers: [], rules: [() => found('rule'), () => [undefined]], own }
  const { details } = await refuses(test, 'CONFIG_INVALID', verifyAll(parts, view))
  test.match(details.errors, [{ message: 'rule' }, { message: 'own' }])
  await verifyAll({ ...parts, rules: [], own: [] }, view)
})

t.test('an irreversible problem is IN_USE as when staged, and one problem among several', async (test) => {
  const store = openStore(test)
  const usage = [{ resource: 'roles', id: 'r', name: 'Administrator', field: 'users' }]
  const lacking = { section: 'roles', id: 'r', field: 'users', message: 'nobody is one', usage } as const
  const flaw = { section: 'roles', id: 'r', field: 'name', message: 'is wrong' } as const
  const found = (...problems: readonly Problem[]) =>
    refusalOf(verifyAll({ drivers: [], rules: [() => problems], own: [], store }, configView(store.candidate)))
  test.match(await found(lacking), { code: 'IN_USE', message: 'nobody is one', details: { data: { usage } } })
  const both = await found(flaw, lacking)
  test.match(both, {
    code: 'CONFIG_INVALID',
    details: { errors: [{ field: 'roles.r.name' }, { field: 'roles.r.users' }] },
  })
})
