import t from 'tap'
import { httpOnlyProblems } from '../../src/layer7-rules.ts'

t.test('redirect and HSTS need mode http', async (test) => {
  const fields = (more: Parameters<typeof httpOnlyProblems>[0]) => httpOnlyProblems(more).map(({ field }) => field)
  test.same(fields({ mode: 'tcp', httpRedirectToHttps: true, hsts: 1 }), ['httpRedirectToHttps', 'hsts'])
  test.same(fields({ mode: 'tcp', httpRedirectToHttps: false, hsts: 0 }), [])
  test.same(fields({ mode: 'tcp' }), [])
  test.same(fields({ mode: 'http', httpRedirectToHttps: true, hsts: true }), [])
})
