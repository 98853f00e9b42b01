import t from 'tap'
import { Value } from 'typebox/value'
import { L7Raw } from '../../../src/model/l7-raw.ts'
import { rawFault } from '../../../src/rules/l7-raw.ts'

t.test('a line stays in the section for which it was sent', async (test) => {
  const leaves = (line: string) => !Value.Check(L7Raw.properties.global, [line]) || rawFault(line) !== undefined
  for (const line of ['nbthread 4', 'tune.ssl.cachesize 100', 'option http-buffer-request', 'no option dontlognull'])
    test.notOk(leaves(line), line)
  const others = ['frontend x', 'global', 'defaults', 'program x', 'userlist u', 'http-errors e', 'listen x', 'cache c']
  for (const line of others) test.ok(leaves(line), line)
  for (const line of [
    ' frontend x',
    '"frontend" x',
    "front'end' x",
    String.raw`front\x65nd x`,
    String.raw`\frontend x`,
    '$FRONTEND x',
    'frontend\tx',
    'option x\nfrontend y',
    'option x\rfrontend y',
    '.if true',
    '# frontend',
    '',
  ])
    test.ok(leaves(line), JSON.stringify(line))
})
