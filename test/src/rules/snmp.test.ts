import t from 'tap'
import { communityProblem, directiveProblem } from '../../../src/rules/snmp.ts'

t.test('text that snmpd reads literally is no problem', async (test) => {
  for (const text of ['', 'Rack "7"', String.raw`back\slash`, "it's $(here) `x` %n; #7", 'ünï ☃', 'x'.repeat(255)]) {
    test.equal(directiveProblem(text), undefined, text)
    test.equal(communityProblem(text), undefined, text)
  }
  test.equal(communityProblem('# and spaces '), undefined)
})

t.test('text that it would truncate or skip is one', async (test) => {
  test.match(directiveProblem('# a comment'), /must not begin with #/)
  test.match(directiveProblem(' a'), /space/)
  test.match(directiveProblem('a '), /space/)
  test.match(directiveProblem('ü'.repeat(128)), /255 bytes/)
  test.match(communityProblem('ü'.repeat(128)), /255 bytes/)
})
