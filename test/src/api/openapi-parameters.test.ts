import t from 'tap'
import { type Endpoint, endpoint } from '../../../src/api/endpoint.ts'
import { PARAMETERS, parametersOf } from '../../../src/api/openapi-parameters.ts'

const common = { name: 'a.b', staged: false, summary: 's', message: 'm', handle: () => undefined } as const
const namesOf = (made: Endpoint) =>
  parametersOf(made).map(({ name, $ref }) =>
    typeof name === 'string' ? name : PARAMETERS[String($ref).split('/').pop() ?? '']?.['name'],
  )

t.test('request headers are listed where they mean something', async (test) => {
  const stage = endpoint({ ...common, method: 'PUT', path: '/a/{id}', effect: 'stage' })
  test.same(namesOf(stage), ['id', 'If-Match', 'X-Transaction-Id'])
  const create = endpoint({ ...common, method: 'POST', path: '/a', effect: 'stage' })
  test.same(namesOf(create), ['X-Transaction-Id'])
  const acts = endpoint({ ...common, method: 'PUT', path: '/a', effect: 'act' })
  test.same(namesOf(acts), ['X-Transaction-Id'])
  test.same(namesOf({ ...acts, comparesRevision: true }), ['If-Match', 'X-Transaction-Id'])
  const tagged = endpoint({ ...common, method: 'GET', path: '/a', effect: 'read', isTagged: true })
  test.same(namesOf(tagged), ['If-None-Match', 'X-Fulcrum-Sequence', 'X-Transaction-Id'])
  const apply = endpoint({ ...common, method: 'PUT', path: '/a', effect: 'apply' })
  test.same(namesOf(apply), [], 'an apply belongs to no transaction')
  test.same(namesOf(endpoint({ ...common, method: 'GET', path: '/a', effect: 'read', access: 'public' })), [])
})
