import t from 'tap'
import { adoptState, refuseNewerState } from '../../../src/appliance/opened-store.ts'
import { openStore } from '../../fixtures/config.ts'

t.test(
  'the state of a newer version is refused, however versions sort; its own and older ones are adopted',
  async (test) => {
    const store = openStore(test)
    await adoptState(store, '0.9.9')
    await adoptState(store, '0.10.0')
    test.equal(store.getMeta('version'), '0.10.0')
    for (const older of ['0.9.9', '0.9.10', '0.0.99']) {
      test.throws(
        () => refuseNewerState(store, older),
        /written by version 0\.10\.0, .* install 0\.10\.0 or newer/,
        older,
      )
      await test.rejects(adoptState(store, older), /written by version/)
    }
    for (const fine of ['0.10.0', '0.10.1', '1.0.0']) refuseNewerState(store, fine)
    test.equal(store.getMeta('version'), '0.10.0', 'a refusal writes nothing')
  },
)

t.test('a state without a version is adopted, and a current one is not written', async (test) => {
  let writes = 0
  const store = { getMeta: () => (writes === 0 ? undefined : '1.2.3'), putMeta: async () => void (writes += 1) }
  await adoptState(store, '1.2.3')
  await adoptState(store, '1.2.3')
  test.equal(writes, 1)
})
