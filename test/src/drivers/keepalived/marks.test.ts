import t from 'tap'
import { FIRST_MARK, GENERATIONS, marksOf } from '../../../../src/drivers/keepalived/marks.ts'
import { l4Backend, l4Frontend } from '../../../fixtures/config.ts'
import { viewOf } from '../../../fixtures/view.ts'

const marks = (...frontends: readonly ReturnType<typeof l4Frontend>[]) =>
  marksOf(
    viewOf({
      l4Frontends: frontends,
      l4Backends: [l4Backend('be', []), l4Backend('kept', [], { persistTimeout: 300 })],
    }),
  )

t.test('one port without persistence needs no mark', (test) => {
  test.equal(marks(l4Frontend('fe', 'be')).size, 0)
  test.equal(marks(l4Frontend('fe', 'be', { ports: '80-80' })).size, 0)
  test.end()
})

t.test('several ports have one mark, persistence a mark for each generation of a client', (test) => {
  test.equal(marks(l4Frontend('fe', 'be', { ports: '80,443' })).get('fe')?.length, 1)
  test.equal(marks(l4Frontend('fe', 'be', { ports: '8000-8010' })).get('fe')?.length, 1)
  const kept = marks(l4Frontend('fe', 'kept')).get('fe') ?? []
  test.equal(kept.length, GENERATIONS)
  test.ok(kept.every((mark, at) => mark === (kept[0] ?? 0) + at && mark >= FIRST_MARK && mark < 2 ** 31))
  test.end()
})

t.test('a client moved while a frontend was persistent is not moved afterwards', (test) => {
  const [plain, kept] = ['be', 'kept'].map(
    (backend) => marks(l4Frontend('fe', backend, { ports: '80,81' })).get('fe') ?? [],
  )
  test.notOk(kept?.includes(plain?.[0] ?? 0))
  test.end()
})

t.test('marks do not depend on other frontends, and no two are equal', (test) => {
  const many = Array.from({ length: 1_000 }, (_, at) => l4Frontend(`frontend-${at}`, 'kept', { ports: `${at + 1}` }))
  const all = marks(...many)
  test.equal(new Set([...all.values()].flat()).size, 1_000 * GENERATIONS)
  const alone = many[500] ?? l4Frontend('none', 'be')
  test.same(marks(alone).get(alone.id), all.get(alone.id))
  test.end()
})
