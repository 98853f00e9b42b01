import t from 'tap'
import { decode, encode, padRevision, recordChanges, renumber } from '../../../storage/config/keys.ts'

t.test('a key is read back', async (test) => {
  const key = { section: 'users', scope: '', key: 'a' }
  test.same(decode(encode(key)), key)
})

t.test('revisions sort as text', async (test) => {
  test.same([padRevision(10), padRevision(9), padRevision(100)].toSorted(), [
    padRevision(9),
    padRevision(10),
    padRevision(100),
  ])
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

t.test('an unstaged record gets a new revision, a staged one keeps its own', async (test) => {
  let next = 10
  const numbered = renumber([change('', 1), change('staged', 2), change('', undefined)], false, () => (next += 1))
  test.same(
    numbered.map(({ after }) => after?.revision),
    [11, 3, undefined],
  )
  test.same(
    recordChanges(numbered).map(({ before, after }) => [before, after]),
    [
      [null, 1],
      [null, 2],
      [null, null],
    ],
  )
  test.match(
    recordChanges(numbered).map(({ origin }) => origin?.changeId),
    [undefined, 'staged', undefined],
    'the author of a change is kept with it',
  )
})
