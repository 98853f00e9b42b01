import t from 'tap'
import { about } from '../../../src/warnings/about.ts'

t.test('a record is identified by kind and name, with its id beside them', async (test) => {
  const web = { id: 'f-1', name: 'web' }
  test.same(about('HSTS_CANNOT_FIRE', 'l7Frontends', web, 'has it.'), {
    code: 'HSTS_CANNOT_FIRE',
    message: 'The Layer 7 frontend web (f-1) has it.',
    resource: 'l7Frontends',
    resourceId: 'f-1',
    name: 'web',
  })
})
