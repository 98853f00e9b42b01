import t from 'tap'
import type { ParameterDeclaration } from '../../../src/model/health-check.ts'
import { valueProblem } from '../../../src/health-checks/values.ts'

const CASES: Readonly<Record<ParameterDeclaration['type'], { right: readonly string[]; wrong: readonly string[] }>> = {
  integer: { right: ['0', '-5', '123456789012345'], wrong: ['', '1.5', '1e3', ' 1', '0x10', '1234567890123456'] },
  port: { right: ['1', '65535'], wrong: ['0', '65536', '-1', '80 ', ''] },
  path: { right: ['/', '/a b/c', '/..a'], wrong: ['', 'a', '/a/../b', '/..', './a'] },
  hostname: { right: ['a.example', '192.0.2.1', '2001:db8::1'], wrong: ['', 'a_b', '-a', '999.1.1.1', 'a b', 'a;b'] },
  secret: { right: ['', "a'b$(x)"], wrong: ['a\nb'] },
  string: { right: ['', "a'b$(x)", 'ü'], wrong: ['a\nb', 'a\u0000', '\u001b'] },
}

for (const [type, { right, wrong }] of Object.entries(CASES)) {
  t.test(`values of type ${type}`, async (test) => {
    const problem = (value: string) => valueProblem(type as ParameterDeclaration['type'], value)
    for (const value of right) test.equal(problem(value), undefined, value)
    for (const value of wrong) test.type(problem(value), 'string', JSON.stringify(value))
  })
}
