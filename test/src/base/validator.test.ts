import t from 'tap'
import { Type } from 'typebox'
import { reader, validatorOf } from '../../../src/base/validator.ts'

const Named = Type.Object({ name: Type.String({ maxLength: 3 }) })

t.test('a schema is compiled once', async (t) => {
  t.equal(validatorOf(Named), validatorOf(Named))
  t.not(
    validatorOf(Named),
    validatorOf(Type.Object({ name: Type.String({ maxLength: 3 }) })),
    'another one, however similar',
  )
  t.equal(validatorOf(Named).Check({ name: 'abc' }), true)
  t.equal(validatorOf(Named).Check({ name: 'abcd' }), false)
})

t.test('a value that does not fit is not read', async (t) => {
  const read = reader(Named)
  t.same(read({ name: 'a', more: 1 }), { name: 'a', more: 1 })
  t.equal(read({ name: 'abcd' }), undefined)
  t.equal(read(undefined), undefined)
})
