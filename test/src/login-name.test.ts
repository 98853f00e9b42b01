import t from 'tap'
import { bareName, comparedName } from '../../src/login-name.ts'

t.test('case of ASCII does not count; another letter is another name', async (test) => {
  test.equal(comparedName('Kate@Bank.example'), comparedName('kate@bank.EXAMPLE'))
  for (const [one, other] of [
    ['\u212aate', 'kate'],
    ['\u0131da', 'ida'],
    ['\u017fam', 'sam'],
    ['k\u0430te', 'kate'],
    ['ｋate', 'kate'],
  ] as const) {
    test.not(comparedName(one), comparedName(other), one)
  }
})

t.test('a domain or a realm is no part of the bare name', async (test) => {
  for (const name of ['alice', 'CORP\\Alice', 'alice@corp.example', 'CORP\\alice@corp.example']) {
    test.equal(bareName(name), 'alice', name)
  }
  test.not(bareName('bob'), bareName('bobby'))
})
