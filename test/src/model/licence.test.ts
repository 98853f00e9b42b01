import t from 'tap'
import { LICENCE } from '../../../src/model/licence.ts'

t.test('nothing is limited', (test) => {
  test.match(LICENCE, { licenceType: 'community', supportExpired: false, maxVips: 0, maxRips: 0 })
  test.ok(LICENCE.modules.every(({ enabled }) => enabled))
  test.end()
})
