import t from 'tap'
import { Value } from 'typebox/value'
import { parsePorts, Ports } from '../../../src/model/ports.ts'

t.test('ports and ranges, each end included', (test) => {
  test.same(parsePorts('80'), [{ first: 80, last: 80 }])
  test.same(parsePorts('80,8000-8010'), [
    { first: 80, last: 80 },
    { first: 8000, last: 8010 },
  ])
  for (const text of ['', '0', '65536', '80-', '90-80', '80,', 'a', '80 81']) {
    test.equal(parsePorts(text), undefined, text)
    test.notOk(Value.Check(Ports, text), text)
  }
  test.end()
})
