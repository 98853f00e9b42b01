import t from 'tap'
import type { Problem } from '../../../src/drivers/driver.ts'
import { configView } from '../../../src/config/views.ts'
import { verifyAll } from '../../../src/config/verify-all.ts'
import { openStore, refuses } from '../../config-fixture.ts'

t.test('all that any rule or part of the daemon finds wrong is told at once', async (test) => {
  const store = openStore(test)
  const view = configView(store.running)
  const found = (message: string): readonly Problem[] => [
    { section: undefined, id: undefined, field: undefined, message },
  ]
  const own = [{ verify: async () => found('own'), enact: async () => undefined }]
  const parts = { store, drivers: [], rules: [() => found('rule'), () => []], own }
  const { details } = await refuses(test, 'CONFIG_INVALID', verifyAll(parts, view))
  test.match(details.errors, [{ message: 'rule' }, { message: 'own' }])
  await verifyAll({ ...parts, rules: [], own: [] }, view)
})
