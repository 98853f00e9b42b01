import t from 'tap'
import { faultOf, linesOf, secondsOf } from '../../../src/haproxy-cfg/lines.ts'

t.test('words, quotes, backslashes and comments are those of HAProxy', (test) => {
  const words = (line: string) => linesOf(line)[0]?.words
  test.same(words('  bind *:80  # all'), ['bind', '*:80'])
  test.same(words('a "b c" \'d "e"\' f\\ g'), ['a', 'b c', 'd "e"', 'f g'])
  test.same(words('option httpchk GET /x HTTP/1.1\\r\\nHost:\\ a'), [
    'option',
    'httpchk',
    'GET',
    '/x',
    'HTTP/1.1\r\nHost: a',
  ])
  test.same(words('a ""'), ['a', ''])
  test.same(words("a 'b#c' \\#d #e"), ['a', 'b#c', '#d'])
  // Regular expressions keep sequences that are no escapes of HAProxy.
  test.same(words('path_reg \\.(png|jpg)$ ^/\\d+\\\\x "\\.a\\"\\$" \'\\.b\\\\\' \\x41\\x2e \\'), [
    'path_reg',
    '\\.(png|jpg)$',
    '^/\\d+\\x',
    '\\.a"$',
    '\\.b\\\\',
    'A.',
    '\\',
  ])
  test.same(words('# nothing'), undefined)
  test.same(
    linesOf('a\r\n\n b \n').map(({ number, text }) => [number, text]),
    [
      [1, 'a'],
      [3, 'b'],
    ],
  )
  test.end()
})

t.test('times', (test) => {
  test.same(['5000', '5s', '100ms', '2m', '1h', '1d', '500us', 'x', undefined].map(secondsOf), [
    5,
    5,
    0.1,
    120,
    3600,
    86_400,
    0.0005,
    undefined,
    undefined,
  ])
  test.end()
})

t.test('what comes uses an environment variable is told, and a dollar sign that is none of it is not', (test) => {
  const fault = (text: string) => linesOf(text).map(faultOf)[0]
  for (const text of ['a "$X"', 'a "${X-1}"', 'a "$.FILE"', 'a "b\\"$X"', 'a "\\\\$X"'])
    test.match(fault(text), /uses an environment variable/, text)
  for (const text of ['a $X', "a '$X'", 'a "\\$X"', 'a "x$"']) test.equal(fault(text), undefined, text)
  test.end()
})
