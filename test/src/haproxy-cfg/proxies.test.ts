import t from 'tap'
import { sectionsOf } from '../../../src/haproxy-cfg/proxies.ts'
import { Reading } from '../../../src/haproxy-cfg/reading.ts'

t.test('defaults are for later sections, or those that name them', (test) => {
  const text = `outside
global
 g 1
defaults one
 a 1
frontend f
 b 1
defaults two from one
 a 2
backend b
backend c from one
resolvers r
 nameserver x
`
  const reading = new Reading()
  const { global, proxies, isOneDefault } = sectionsOf(text, reading)
  const words = (lines: readonly { readonly words: readonly string[] }[]) => lines.map((line) => line.words.join(' '))
  test.same(words(global), ['g 1'])
  test.equal(isOneDefault, false)
  test.same(
    proxies.map(({ kind, name, lines, defaults }) => [kind, name, words(lines), words(defaults)]),
    [
      ['frontend', 'f', ['b 1'], ['a 1']],
      ['backend', 'b', [], ['a 1', 'a 2']],
      ['backend', 'c', [], ['a 1']],
    ],
  )
  test.match(reading.left, [{ line: 1 }, { line: 12, why: /section resolvers/ }, { line: 13, why: /resolvers r/ }])
  test.end()
})
