import t from 'tap'
import { documentOfRecord, sectionOf } from '../../../../src/ui/core/record-document.ts'

const NAMES = new Map([
  ['id-1', 'web1'],
  ['id-2', 'shop'],
])

t.test('ids become names at any place, and only ids', async (test) => {
  const value = {
    id: 'id-9',
    health: 'up',
    name: 'store',
    owner: '',
    reals: [{ ripId: 'id-1', weight: 5 }],
    rules: [{ do: { backendId: 'id-2' } }],
  }
  test.same(documentOfRecord({ section: 'l7Backends', before: 'store', value, names: NAMES }), {
    version: 1,
    l7Backends: { store: { reals: [{ ripId: 'web1', weight: 5 }], rules: [{ do: { backendId: 'shop' } }] } },
  })
})

t.test('a rename is shown as one, a new record and its owner unchanged', async (test) => {
  const value = { name: 'store', owner: 'team', ports: '80', errorPages: null }
  test.same(documentOfRecord({ section: 'l7Frontends', before: 'shop', value, names: NAMES }), {
    version: 1,
    owner: 'team',
    renamed: { l7Frontends: { shop: 'store' } },
    l7Frontends: { store: { ports: '80', errorPages: null } },
  })
  test.notOk('renamed' in documentOfRecord({ section: 'l7Frontends', before: undefined, value, names: NAMES }))
})

t.test('records that no document has are not planned', async (test) => {
  test.equal(sectionOf('l7Frontends.update'), 'l7Frontends')
  for (const other of ['users.update', 'acmeOrders.create', '']) test.equal(sectionOf(other), undefined, other)
})
