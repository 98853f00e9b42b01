import t from 'tap'
import { policyProblems } from '../../../src/rules/password.ts'

const OWNER = { email: 'jane.doe@example.org', firstName: 'Jane', lastName: 'Doefield' }

t.test('every broken rule is named', async (test) => {
  const broken: Readonly<Record<string, readonly RegExp[]>> = {
    short1: [/at least 8/],
    aaaa: [/at least 8/, /repeat/],
    abababab: [/repeat/],
    password: [/a common password/],
    'Password1!': [/a common password/],
    QWERTYUIOP: [/a common password/],
    'jane.doe@example.org': [/name of the user/],
    'Jane.Doe12': [/name of the user/],
    'doefield!': [/name of the user/],
    janedoefield: [/name of the user/],
    ['x1'.repeat(513)]: [/at most 1024/, /repeat/],
  }
  for (const [password, rules] of Object.entries(broken)) {
    const problems = policyProblems(password, OWNER)
    test.equal(problems.length, rules.length, `${password}: ${problems.join(', ')}`)
    for (const [index, rule] of rules.entries()) test.match(problems[index], rule, password)
  }
})

t.test('length counts, kinds of characters do not', async (test) => {
  for (const password of [
    'correct horse battery',
    'a-password',
    'пароль-дома',
    '🦊🦔🦡🦦🦥🦨🦫🦝',
    'Tr0ub4dor&3',
    'jane.doe and her dog',
  ]) {
    test.same(policyProblems(password, OWNER), [], password)
  }
})
