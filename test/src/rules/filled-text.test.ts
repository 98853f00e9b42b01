import t from 'tap'
import { partsOf, unknownIn } from '../../../src/rules/filled-text.ts'

t.test('the fields that fill a text', (test) => {
  test.same(partsOf('a {host}{header.X-A} {b} {'), [
    'a ',
    { of: 'host', name: '' },
    { of: 'header', name: 'X-A' },
    ' {b} {',
  ])
  test.same(partsOf(''), [])
  test.same(unknownIn('{host} {header.X} {a b} {"a":1}', false), [])
  test.equal(unknownIn('{Host} {header} {host.x} {variable.a-b}', false).length, 4)
  test.equal(unknownIn('{host} {source} {variable.a}', true).length, 1)
  test.end()
})
