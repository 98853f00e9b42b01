import t from 'tap'
import { begunWith, isBlamed, namesOf, ordered } from '../../../../src/ui/core/form-order.ts'

const SCHEMA = {
  required: ['name'],
  properties: {
    id: { readOnly: true },
    name: {},
    ip: {},
    weight: { default: 100 },
    timeout: {},
    owner: {},
  },
} as const

t.test('read-only fields of an answer are not fields of the form', async (test) => {
  test.same(namesOf(SCHEMA), ['name', 'ip', 'weight', 'timeout', 'owner'])
  test.same(namesOf({}), [])
})

t.test('a form begins with required fields, prioritised ones, and those with a value', async (test) => {
  const early = begunWith(SCHEMA, { weight: 100, timeout: 7, owner: undefined })
  test.same(ordered(namesOf(SCHEMA), ['ip', 'unknown'], early), {
    early: ['ip', 'name', 'timeout'],
    late: ['weight', 'owner'],
  })
})

t.test('a field is blamed for problems within it', async (test) => {
  const errors = [{ field: 'reals.0.ripId', code: 'NOT_FOUND', message: 'there is none' }]
  test.ok(isBlamed('reals', errors))
  test.ok(isBlamed('reals.0', errors))
  test.notOk(isBlamed('real', errors))
  test.notOk(isBlamed('reals.1', errors))
})
