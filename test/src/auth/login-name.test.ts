import t from 'tap'
import { bareName, comparedName, isReservedName } from '../../../src/auth/login-name.ts'

t.test('ASCII case does not count; another letter is another name', async (test) => {
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

t.test('a domain or a realm is not part of the bare name', async (test) => {
  for (const name of ['alice', 'CORP\\Alice', 'alice@corp.example', 'CORP\\alice@corp.example']) {
    test.equal(bareName(name), 'alice', name)
  }
  test.not(bareName('bob'), bareName('bobby'))
})

t.test('all names that a server or a directory may treat as one account have one bare name', async (test) => {
  const spellings = [
    'ALICE',
    ' alice',
    'al ice',
    'alice\u00a0',
    'a\u200blice',
    'alice\u00ad',
    '\uff21lice',
    'álice',
    'a\u0301lice',
    'corp/alice',
    'corp!alice',
    'a!b!alice',
    'alice%corp',
    '@alice',
    'alice@',
    'alice@one@two',
    'corp\\alice@corp.example',
    'corp/alice%x',
    'CORP\\ALICE',
    '/alice/',
    '\u212aorp/alice',
  ]
  for (const name of spellings) test.equal(bareName(name), 'alice', JSON.stringify(name))
  test.equal(bareName('\u212aate'), bareName('kate'))
  test.equal(bareName('stra\u00dfe'), bareName('STRASSE'))
  for (const name of ['', '@', '\\', '/%!@', '\u200b']) test.type(bareName(name), 'string')
  test.not(bareName('@@'), bareName('%%'), 'strings without a name still differ')
})

t.test('names that the daemon uses for itself belong to no user', async (test) => {
  for (const name of ['fulcrum', 'System', ' demo', 'F\u00falcrum', 'ful\u200bcrum'])
    test.ok(isReservedName(name), name)
  for (const name of ['fulcrum@corp.example', 'systems', 'root', '']) test.notOk(isReservedName(name), name)
})
