import t from 'tap'
import { ERRORS } from '../../../src/errors.ts'
import { STATUS_LINES } from '../../../src/http/status-lines.ts'

t.test('every status that an answer can have has its line', async (test) => {
  for (const status of [200, 201, 202, 304, ...Object.values(ERRORS).map((error) => error.status)]) {
    test.match(STATUS_LINES[status], new RegExp(`^${status} [A-Z]`))
  }
})
