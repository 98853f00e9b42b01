import t from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

t.test('reboot is an optional boolean; no other field is known', async (test) => {
  const { call, node } = await borrow()
  for (const body of [{ reboot: 'yes' }, { restart: true }]) {
    test.equal((await call('PUT', `/${node}/lvmsnapshots`, { body })).status, 422)
  }
  for (const body of [{}, { reboot: false }]) {
    test.equal((await call('PUT', `/${node}/lvmsnapshots`, { body })).status, 404, 'there is no snapshot')
  }
})
