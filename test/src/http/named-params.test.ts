import t from 'tap'
import { namedParams } from '../../../src/http/named-params.ts'
import { realServer } from '../../fixtures/config.ts'

t.test('a changed record is named, with its id beside the name', async (test) => {
  const before = realServer('r', { name: 'web1' })
  const change = { section: 'realServers', id: 'r', before, after: undefined } as const
  test.same(namedParams({ id: 'r' }, [change]), { id: 'web1 (r)' })
  test.same(namedParams({ id: 'r', applianceId: 'n' }, [{ ...change, after: { ...before, name: 'web2' } }]), {
    id: 'web2 (r)',
    applianceId: 'n',
  })
  test.same(namedParams({ id: 'other' }, [change]), { id: 'other' }, 'it was not changed')
  test.same(namedParams({ id: 'r' }, [{ ...change, before: realServer('r') }]), { id: 'r' }, 'its name is its id')
  test.same(namedParams({}, [change]), {})
  test.same(namedParams({ id: 'r' }), { id: 'r' })
})
