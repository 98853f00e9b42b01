import t from 'tap'
import { backendProblems, frontendProblems } from '../../../src/rules/layer7.ts'

t.test('redirect and HSTS need mode http', async (test) => {
  const fields = (more: Parameters<typeof frontendProblems>[0]) => frontendProblems(more).map(({ field }) => field)
  test.same(fields({ mode: 'tcp', httpRedirectToHttps: true, hsts: 1 }), ['httpRedirectToHttps', 'hsts'])
  test.same(fields({ mode: 'tcp', httpRedirectToHttps: false, hsts: 0 }), [])
  test.same(fields({ mode: 'tcp' }), [])
  test.same(fields({ mode: 'http', httpRedirectToHttps: true, hsts: true }), [])
})

t.test('a backend in itself: fields that need mode http, duplicates, and requirements of TLS to servers', (test) => {
  const backend = { mode: 'http', persistence: { type: 'none' }, balance: 'roundrobin', reals: [] } as const
  const fields = (more: Partial<Parameters<typeof backendProblems>[0]>) =>
    backendProblems({ ...backend, reals: [], ...more }).map(({ field }) => field)
  test.same(fields({ persistence: { type: 'cookie' }, balance: 'uri' }), [])
  test.same(fields({ mode: 'tcp', persistence: { type: 'ip' }, balance: 'source' }), [])
  test.same(fields({ mode: 'tcp', persistence: { type: 'cookie' }, balance: 'uri' }), ['persistence.type', 'balance'])
  const reals = [
    { ripId: 'a', encrypted: true, verify: true, sni: 'a.test' },
    { ripId: 'b', sni: 'b.test', verify: true },
    { ripId: 'a', encrypted: true, verify: true },
    { ripId: 'c', verify: false },
  ]
  test.same(fields({ reals }), ['reals.1.verify', 'reals.1.sni', 'reals.2.ripId', 'reals.2.sni'])
  test.end()
})
