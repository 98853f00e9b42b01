import t from 'tap'
import { refuseFields } from '../../../src/api/refuse.ts'
import { refuses } from '../../config-fixture.ts'

t.test('no problem, no refusal', async (test) => {
  test.doesNotThrow(() => refuseFields([]))
})

t.test('all problems at once, under the code of the first', async (test) => {
  const problems = [
    { field: 'tcpTimeout', code: 'INVALID_DURATION', message: 'has two units' },
    { field: 'udpTimeout', code: 'OUT_OF_RANGE', message: 'is longer than 31d' },
  ] as const
  const error = await refuses(test, 'INVALID_DURATION', () => refuseFields(problems))
  test.same(error.details.errors, problems)
  test.match(error.message, /2 problems: tcpTimeout has two units; udpTimeout is longer than 31d/)
})
