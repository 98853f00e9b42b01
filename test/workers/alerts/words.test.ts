import t from 'tap'
import { lineOf, linesOf, plain, titleOf } from '../../../workers/alerts/words.ts'
import { alertMessage } from '../../fixtures/alert-targets.ts'

t.test('a title names its object, or the number of objects', (test) => {
  test.equal(titleOf(alertMessage()), '[critical] Firing: servers down: shop/web-1')
  test.equal(titleOf(alertMessage({ count: 7, phase: 'repeated' })), '[critical] Still firing: servers down: 7 alerts')
  test.equal(titleOf(alertMessage({ phase: 'resolved' })), '[critical] Resolved: servers down: shop/web-1')
  test.end()
})

t.test('alerts that are not listed one by one are counted', (test) => {
  test.match(linesOf(alertMessage({ count: 1_000 })), [/is down/, /999 more/, /message-1/])
  test.equal(linesOf(alertMessage()).length, 2)
  test.end()
})

t.test('texts are one line, and read in one direction', (test) => {
  test.equal(plain('a\r\nb\u0000c\u2028d\u202ee\u2066f\u009bg'), 'a b c d e f g')
  const [alert] = alertMessage().alerts
  if (alert !== undefined) test.notMatch(lineOf({ ...alert, text: 'a\r\nBcc: x' }), '\n')
  test.end()
})
