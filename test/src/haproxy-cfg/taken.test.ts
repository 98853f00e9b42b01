import t from 'tap'
import { linesOf } from '../../../src/haproxy-cfg/lines.ts'
import { Reading } from '../../../src/haproxy-cfg/reading.ts'
import { isRaw, listenOf, plainText, wholeNumber, wholeSeconds, whyOwn } from '../../../src/haproxy-cfg/taken.ts'

const line = (text: string) => linesOf(text)[0] ?? { number: 1, text, words: [] }

t.test('addresses, numbers, times and texts', (test) => {
  test.same(
    ['*:80', ':80,443', '192.0.2.1:8000-8010', '[::]:443', 'ipv4@10.0.0.1:1'].map((text) => {
      const { ip, ports } = listenOf(text)
      return `${ip} ${ports}`
    }),
    ['0.0.0.0 80', '0.0.0.0 80,443', '192.0.2.1 8000-8010', ':: 443', '10.0.0.1 1'],
  )
  for (const wrong of ['/run/x.sock', 'abns@x', '10.0.0.1', 'fd@3', '${IP}:80'])
    test.throws(() => listenOf(wrong), wrong)
  test.throws(() => wholeNumber('1k'))
  const reading = new Reading()
  test.equal(wholeSeconds(line('timeout client 1500'), '1500', reading), 2)
  test.match(reading.remarks, [{ why: /it becomes 2 s/ }])
  test.throws(() => wholeSeconds(line('x'), 'soon', reading))
  test.equal(plainText('100%%'), '100%')
  for (const computed of ['%[src]', '%ci', '%{+Q}o']) test.throws(() => plainText(computed), computed)
  test.end()
})

t.test('raw lines name nothing else, and depend on nothing', (test) => {
  for (const raw of [
    'option http-server-close',
    'retries 3',
    'tune.bufsize 32768',
    'fullconn 100',
    'no option splice-auto',
  ])
    test.equal(isRaw(line(raw)), true, raw)
  for (const not of [
    'option httpchk',
    'use_backend x',
    'tcp-request connection reject if a',
    'http-request deny',
    'retries é',
  ])
    test.equal(isRaw(line(not)), false, not)
  test.match(whyOwn(line('option httplog')), /access logs/)
  test.equal(whyOwn(line('balance source')), undefined)
  test.end()
})
