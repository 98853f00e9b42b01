import t from 'tap'
import { licence } from '../../../src/model/licence.ts'

t.test('nothing is limited, and support ends on the day shown', async (test) => {
  const { modules, daysToExpire, supportExpireDate, ...limits } = licence(Date.UTC(9999, 11, 1))
  test.match(limits, {
    licenceType: 'community',
    supportExpired: false,
    maxVips: 2_147_483_647,
    maxRips: 2_147_483_647,
  })
  test.same([supportExpireDate, daysToExpire], ['31/12/9999', 30])
  test.ok(modules.every(({ enabled }) => enabled))
})
