import t from 'tap'
import { refuseMismatch } from '../../../src/config/if-match.ts'
import { refuses } from '../../fixtures/config.ts'

t.test('one of several revisions, or any, matches a record', async (test) => {
  for (const sent of ['"7"', '"6", "7"', '*']) test.doesNotThrow(() => refuseMismatch(sent, '7'), sent)
})

t.test('REVISION_MISMATCH: another revision; the answer has the current one', async (test) => {
  const error = await refuses(test, 'REVISION_MISMATCH', () => refuseMismatch('"6"', '7'))
  test.same(error.details.data, { current: '"7"', sent: '"6"' })
})
