import t from 'tap'
import { canonical, canonicalParts } from '../../../src/base/canonical.ts'

const VALUE = { b: [1, { d: null, c: 'x' }], a: { z: true, y: undefined }, ü: '"\n', '10': 1, '9': 2 }
const TEXT = '{"10":1,"9":2,"a":{"z":true},"b":[1,{"c":"x","d":null}],"ü":"\\"\\n"}'

t.test('one form for one value, whatever the order of its fields', (test) => {
  test.equal(canonical(VALUE), TEXT)
  test.equal(canonical(JSON.parse(TEXT)), TEXT)
  test.end()
})

t.test('portions of any depth make the same text', (test) => {
  for (const depth of [0, 1, 2, 3, 9]) {
    let text = ''
    canonicalParts(VALUE, depth, (part) => (text += part))
    test.equal(text, TEXT)
  }
  test.end()
})
