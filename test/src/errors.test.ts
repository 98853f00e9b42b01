import { readFileSync } from 'node:fs'
import t from 'tap'
import { ApiError, ERRORS } from '../../src/errors.ts'

const contract: Readonly<Record<string, number>> = JSON.parse(
  readFileSync(new URL('../fixtures/error-codes.json', import.meta.url), 'utf8'),
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
