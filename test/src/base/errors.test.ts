import { readFileSync } from 'node:fs'
import t from 'tap'
import { ApiError, ERRORS, refuseFields } from '../../../src/base/errors.ts'
import { refuses } from '../../fixtures/config.ts'

const contract: Readonly<Record<string, number>> = JSON.parse(
  readFileSync(new URL('../../fixtures/error-codes.json', import.meta.url), 'utf8'),
)

t.test('every code is one of the contract, with its status', async (test) => {
  for (const [code, { status, meaning }] of Object.entries(ERRORS)) {
    test.match(meaning, /^[A-Z].*\.$/, code)
    // A defect of the daemon is no condition of the contract.
    if (code === 'INTERNAL') test.equal(status, 500)
    else test.equal(status, contract[code], code)
  }
})

t.test('an error knows its status', async (test) => {
  test.equal(new ApiError('IN_USE', 'x').status, 409)
})

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
