import t from 'tap'
import { refuseMismatch } from '../../../src/config/if-match.ts'
import { refuses } from '../../fixtures/config.ts'

t.test('a revision among several, or any, fits a record', async (test) => {
  for (const sent of ['"7"', '"6", "7"', '*']) test.doesNotThrow(() => refuseMismatch(sent, '7'), sent)
})

t.test('REVISION_MISMATCH: another revision; the answer tells the one of now', async (test) => {
  const error = await refuses(test, 'REVISION_MISMATCH', () => refuseMismatch('"6"', '7'))
  test.same(error.details.data, { current: '"7"', sent: '"6"' })
})
