import t from 'tap'
import { decode, encode, padded, recorded, renumbered } from '../../../storage/config/keys.ts'

t.test('a key is what it was', async (test) => {
  const key = { section: 'users', scope: '', key: 'a' }
  test.same(decode(encode(key)), key)
})

t.test('revisions sort as text', async (test) => {
  test.same([padded(10), padded(9), padded(100)].toSorted(), [padded(9), padded(10), padded(100)])
})

const change = (id: string, after: unknown) => ({
  id,
  revision: 3,
  section: 'users',
  scope: '',
  key: 'a',
  actor: '',
  endpoint: '',
  at: '',
  before: undefined,
  after: after === undefined ? undefined : { value: after, revision: 3 },
})

t.test('what no editor staged gets a revision of its own, what one staged keeps it', async (test) => {
  let next = 10
  const numbered = renumbered([change('', 1), change('staged', 2), change('', undefined)], () => (next += 1))
  test.same(
    numbered.map(({ after }) => after?.revision),
    [11, 3, undefined],
  )
  test.same(
    recorded(numbered).map(({ before, after }) => [before, after]),
    [
      [null, 1],
      [null, 2],
      [null, null],
    ],
  )
  test.match(
    recorded(numbered).map(({ origin }) => origin?.changeId),
    [undefined, 'staged', undefined],
    'whose a change was is kept with it',
  )
})
