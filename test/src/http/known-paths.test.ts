import t from 'tap'
import { KnownPaths, paramsOf } from '../../../src/http/known-paths.ts'
import { refuses } from '../../config-fixture.ts'

const match = (names: readonly string[], values: readonly string[]) =>
  ({ route: { names, index: 0 }, values }) as unknown as Parameters<typeof paramsOf>[0]

t.test('parameters are decoded; another node is not found', async (test) => {
  test.same(paramsOf(match(['applianceId', 'id'], ['n', 'a%20b']), 'n'), { applianceId: 'n', id: 'a b' })
  test.same(paramsOf(match(['applianceID'], ['n']), 'n'), { applianceID: 'n' })
  await refuses(test, 'NOT_FOUND', () => paramsOf(match(['applianceId'], ['m']), 'n'))
})

t.test('a bounded number of short paths is remembered', async (test) => {
  const known = new KnownPaths()
  const path = { ...match([], []), params: {} }
  known.keep('/a', path)
  known.keep(`/${'x'.repeat(300)}`, path)
  test.equal(known.get('/a'), path)
  test.equal(known.get(`/${'x'.repeat(300)}`), undefined)
  for (let n = 0; n < 4_096; n++) known.keep(`/${n}`, path)
  test.equal(known.get('/a'), undefined)
  test.equal(known.get('/4095'), path)
})
