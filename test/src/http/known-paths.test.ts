import t from 'tap'
import { KnownPaths, namesNode, otherNodeIn, paramsOf } from '../../../src/http/known-paths.ts'

const match = (names: readonly string[], values: readonly string[]) =>
  ({ route: { names, index: 0 }, values }) as unknown as Parameters<typeof paramsOf>[0]

t.test('parameters are decoded', async (test) => {
  test.same(paramsOf(match(['applianceId', 'id'], ['n', 'a%20b'])), { applianceId: 'n', id: 'a b' })
})

t.test('a path names another node, this one or none, in either spelling', async (test) => {
  for (const name of ['applianceId', 'applianceID']) {
    test.equal(otherNodeIn({ [name]: 'm' }, 'n'), 'm')
    test.equal(otherNodeIn({ [name]: 'n' }, 'n'), undefined)
    test.ok(namesNode(match([name], ['n'])))
  }
  test.equal(otherNodeIn({ id: 'm' }, 'n'), undefined)
  test.notOk(namesNode(match(['id'], ['n'])))
  test.notOk(namesNode({ allow: [] }))
})

t.test('a limited number of short paths is remembered', async (test) => {
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
