import t from 'tap'
import { sentCheckProblems } from '../../../src/health-checks/sent-check.ts'

t.test('parameters of the body are checked instead of headers', async (test) => {
  const script = '#!/bin/sh\n# @param {\n'
  test.match(sentCheckProblems({ script }), [{ field: 'script', message: /line 2/ }])
  test.strictSame(sentCheckProblems({ script, parameters: [] }), [])
})

t.test('both at once', async (test) => {
  const twice = { name: 'a', type: 'string' } as const
  test.match(sentCheckProblems({ script: 'exit 0', parameters: [twice, twice] }), [
    { field: 'script' },
    { field: 'parameters.1.name' },
  ])
  test.strictSame(sentCheckProblems({}), [])
})
