import t from 'tap'
import { regexFault, repeatsGroups } from '../../../src/rules/regex-fault.ts'

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

t.test('repeated groups are found, except where an expression cannot be part of another one', (test) => {
  for (const repeated of ['(a|b)*', '^/(?:a|b)+$', '(a){2,}', '((a)|b){3}']) test.ok(repeatsGroups(repeated), repeated)
  for (const other of [
    'a*',
    '(a|b)?',
    '[a-z]+',
    '(*UCP)(a|b)*',
    '(?x)(a|b)* # any',
    '(?ix)(a)*',
    '(?-x)(a)*',
    '(a)*(?R)',
    String.raw`(a)*\Qb`,
  ])
    test.notOk(repeatsGroups(other), other)
  test.end()
})
