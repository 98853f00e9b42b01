import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import t from 'tap'
import { Email, Group, Ids, PersonName, Role, User } from '../../../src/model/access.ts'
import { user } from '../../fixtures/config.ts'

const fits = (schema: TSchema, value: unknown) => Compile(schema).Check(value)

t.test('an e-mail has text on both sides of one @, and no line break', async (test) => {
  for (const good of ['a@b', 'admin@localhost', 'Jane.O’Hara+x@sub.example.test']) test.ok(fits(Email, good), good)
  const bad = ['', 'ab', '@b', 'a@', 'a@b@c', 'a b@c', 'a@b c', 'a@b\n', 'a\u0000@b', `${'x'.repeat(253)}@y`]
  for (const text of bad) test.notOk(fits(Email, text), JSON.stringify(text))
})

t.test('a part of a person’s name may be empty, and holds no control characters', async (test) => {
  for (const good of ['', 'José', 'x'.repeat(128)]) test.ok(fits(PersonName, good), good)
  for (const bad of ['a\nb', 'a\u001bb', 'a\u007f', 'x'.repeat(129)]) test.notOk(fits(PersonName, bad))
})

t.test('a list of ids names each once', async (test) => {
  const list = Ids('groups', 'Things.')
  test.match(list, { description: 'Things.', items: { 'x-refers-to': ['groups'] } })
  test.ok(fits(list, []))
  test.ok(fits(list, ['a', 'b']))
  test.notOk(fits(list, ['a', 'a']))
  test.notOk(fits(list, ['a b']))
})

t.test('stored users, groups and roles are complete and closed', async (test) => {
  const records = [
    [User, user('u', { groups: ['g'], roles: ['r'] })],
    [Group, { id: 'g', name: 'g', roles: [] }],
    [Role, { id: 'r', name: 'r', builtin: false, endpoints: ['x'] }],
  ] as const
  for (const [schema, record] of records) {
    test.ok(fits(schema, record))
    test.notOk(fits(schema, { ...record, surprise: 1 }))
    for (const field of Object.keys(record)) {
      test.notOk(fits(schema, { ...record, [field]: undefined }), `without ${field}`)
    }
  }
})
