import t from 'tap'
import { backendsOf } from '../../../src/model/l7-rules.ts'

t.test('the backends of a frontend: those of its rules, and the default one', (test) => {
  const to = (backendId: string) => ({ do: { type: 'backend', backendId } }) as const
  test.same(backendsOf({ defaultBackendId: null }), [])
  test.same(backendsOf({ defaultBackendId: 'a' }), ['a'])
  test.same(backendsOf({ rules: [to('b'), { do: { type: 'deny' } }, to('a')], defaultBackendId: 'a' }), ['b', 'a'])
  test.end()
})
