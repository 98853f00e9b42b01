import t from 'tap'
import { applianceFixture } from '../../appliance-fixture.ts'

t.test('reboot is a boolean and may be left out; nothing else is known', async (test) => {
  const { call, node } = await applianceFixture(test)
  for (const body of [{ reboot: 'yes' }, { restart: true }]) {
    test.equal((await call('PUT', `/${node}/lvmsnapshots`, { body })).status, 422)
  }
  for (const body of [{}, { reboot: false }]) {
    test.equal((await call('PUT', `/${node}/lvmsnapshots`, { body })).status, 404, 'there is no snapshot')
  }
})
