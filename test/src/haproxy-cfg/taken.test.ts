import t from 'tap'
import { importHaproxyCfg } from '../../../src/haproxy-cfg/import.ts'
import { linesOf } from '../../../src/haproxy-cfg/lines.ts'
import { Reading } from '../../../src/haproxy-cfg/reading.ts'
import {
  leave,
  listenOf,
  modeOf,
  plainText,
  rawOf,
  takeOptions,
  wholeNumber,
  wholeSeconds,
} from '../../../src/haproxy-cfg/taken.ts'

const line = (text: string) => linesOf(text)[0] ?? { number: 1, text, words: [] }

t.test('addresses, numbers, times and texts', (test) => {
  test.same(
    ['*:80', ':80,443', '192.0.2.1:8000-8010', '[::]:443', 'ipv4@10.0.0.1:1', 'ipv6@*:80', 'ipv6@:80', 'ipv4@*:80'].map(
      (text) => {
        const { ip, ports } = listenOf(text)
        return `${ip} ${ports}`
      },
    ),
    ['0.0.0.0 80', '0.0.0.0 80,443', '192.0.2.1 8000-8010', ':: 443', '10.0.0.1 1', ':: 80', ':: 80', '0.0.0.0 80'],
  )
  for (const wrong of ['/run/x.sock', 'abns@x', '10.0.0.1', 'fd@3', '${IP}:80'])
    test.throws(() => listenOf(wrong), wrong)
  test.throws(() => wholeNumber('1k'))
  const reading = new Reading()
  test.equal(wholeSeconds(line('timeout client 1500'), '1500', reading), 2)
  test.match(reading.remarks, [{ why: /it becomes 2 s/ }])
  test.throws(() => wholeSeconds(line('x'), 'soon', reading))
  for (const never of ['0', '0s'])
    test.throws(() => wholeSeconds(line('x'), never, reading), { message: /0, meaning no limit, has no counterpart/ })
  test.equal(reading.remarks.length, 1)
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
    'tcp-request connection expect-proxy layer4',
    'ssl-default-bind-options ssl-min-ver TLSv1.2 no-tls-tickets',
  ])
    test.equal(rawOf(line(raw)), raw)
  test.equal(rawOf(line('http-response set-header X-A "a; b=100%%"')), 'http-response set-header X-A "a; b=100%%"')
  test.equal(rawOf(line('http-request  del-header X-A')), 'http-request del-header X-A')
  for (const not of [
    'option httpchk',
    'use_backend x',
    'tcp-request connection reject if a',
    'http-request deny',
    // Unconditional ones are what remains after the lines that make exceptions.
    'tcp-request connection reject',
    'tcp-request content reject',
    'tcp-response content reject',
    // The table may not exist.
    'tcp-request connection track-sc0 src',
    'tcp-request content track-sc0 src table t',
    // Each address has its own versions, which take precedence.
    'ssl-default-bind-options no-tls-tickets ssl-min-ver TLSv1.3',
    'ssl-default-bind-options ssl-max-ver TLSv1.2',
    'ssl-default-bind-options force-tlsv13',
    // HAProxy refuses these, and with them the whole document.
    'no option forwardfor',
    'no option http-use-htx',
    'grace 3s',
    'http-request normalize-uri path-merge-slashes',
    'http-response cache-use c',
    'http-response set-header X-A %[src]',
    'http-response set-header X-A %ci',
    'http-response set-header X-A b if c',
    "http-response set-header X-A '\"'",
    'http-request del-header X- -m beg',
    'retries é',
  ])
    test.equal(rawOf(line(not)), undefined, not)
  test.equal(rawOf(line('option\thttp-server-close   # "quick" if asked')), 'option http-server-close')
  test.equal(rawOf(line('http-response set-header X-A a\\nb')), undefined, 'a line break')
  const reading = new Reading()
  for (const text of ['option httplog', 'balance source', 'balance source']) leave(line(text), 'no', reading)
  test.match(reading.remarks, [{ text: 'option httplog', why: /access logs/ }])
  test.same(reading.left, [{ line: 1, text: 'balance source', why: 'no' }])
  test.end()
})

t.test('options consume their own words', (test) => {
  const table = {
    a: (all: string[]) => void all.push('a'),
    b: (all: string[], value: () => string) => void all.push(value()),
  }
  test.same(takeOptions(table, ['b', 'a', 'a', 'b'], []), ['a', 'a', ''])
  test.throws(() => takeOptions(table, ['c'], []), /c has no counterpart/)
  test.throws(() => takeOptions(table, ['toString'], []), /toString has no counterpart/)
  test.same([modeOf('http'), modeOf('tcp')], ['http', 'tcp'])
  test.throws(() => modeOf('health'), /no mode health/)
  test.end()
})

t.test('a delay that HAProxy would ignore after Fulcrum’s own is reported', async (test) => {
  const delayed = async (more: string) => {
    const cfg = `frontend f\n tcp-request inspect-delay 9s\n tcp-request connection expect-proxy layer4\n${more}`
    const { document, remarks } = await importHaproxyCfg(`${cfg}\nbackend b\n server s 10.0.0.1:80\n`)
    return { raw: document['l7Raw'], told: remarks.filter((one) => one.line === 2).map(({ why }) => why) }
  }
  const bySni = ' use_backend b if { req.ssl_sni -i a.test }\n'
  const lines = ['tcp-request inspect-delay 9s', 'tcp-request connection expect-proxy layer4']
  test.same(await delayed(` bind *:1\n${bySni}`), {
    raw: { frontends: [{ id: 'f', lines: lines.slice(1) }] },
    told: ['rules that ask for the name (SNI) wait 5 s for it'],
  })
  const kept = { raw: { frontends: [{ id: 'f', lines }] }, told: [] }
  test.same(await delayed(' bind *:1\n default_backend b\n'), kept)
  test.same(await delayed(` bind *:1 ssl crt a.pem\n${bySni.replace('req.ssl_sni', 'ssl_fc_sni')}`), kept)
})

t.test('a reject without its exceptions, and versions of TLS, are reported with the reason', async (test) => {
  const { document, notUnderstood } = await importHaproxyCfg(`global
 ssl-default-bind-options ssl-min-ver TLSv1.3
frontend f
 bind :80
 tcp-request content accept if { req_ssl_hello_type 1 }
 tcp-request content reject
 default_backend b
backend b
 server s 192.0.2.1:80`)
  test.equal(Object(document).l7Raw, undefined)
  test.match(notUnderstood, [
    { line: 2, why: /minTls/ },
    { line: 5, why: /source and SNI/ },
    { line: 6, why: /source and SNI/ },
  ])
})
