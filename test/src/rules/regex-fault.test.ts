import t from 'tap'
import { regexFault } from '../../../src/rules/regex-fault.ts'

t.test('regular expressions that may take exponential time are refused', (test) => {
  for (const fine of [
    '^/a(b|c)*$',
    '^/[a-z+*]+/x{2,5}$',
    '(ab{1,3})+',
    String.raw`\(a+\)+`,
    '(?:a|b)?',
    'a{3}',
    '(a)(b+)',
    '[^]]+x',
  ])
    test.equal(regexFault(fine), undefined, fine)
  for (const bad of [
    '(a+)+',
    '(a*)*',
    '((a+)b)*',
    '(a|b+){20}',
    '(a{11,})+',
    '((a|b)*c)+',
    String.raw`(a)\1`,
    '',
    'x'.repeat(257),
  ])
    test.type(regexFault(bad), 'string', bad)
  test.end()
})
