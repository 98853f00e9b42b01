import t from 'tap'
import { FRONTEND, FrontendDraft, frontendsOf } from '../../../src/haproxy-cfg/frontend.ts'
import { linesOf } from '../../../src/haproxy-cfg/lines.ts'
import { Reading } from '../../../src/haproxy-cfg/reading.ts'

function read(text: string) {
  const [draft, reading] = [new FrontendDraft(), new Reading()]
  for (const line of linesOf(text)) {
    const [word = '', ...words] = line.words
    FRONTEND.get(word)?.(draft, words, line, reading)
  }
  return frontendsOf(draft).map((fields, at) => [at === 0 ? 'f' : `f-${at + 1}`, fields])
}

t.test('ports of one address are one frontend, with the redirect also where only one uses TLS', (test) => {
  const tls = 'bind *:443 ssl crt /etc/a.pem crt /etc/b'
  test.match(read(`mode http\nbind *:80,8080\nbind *:8081`), [['f', { ip: '0.0.0.0', ports: '80,8080,8081' }]])
  test.match(read(`mode http\nbind *:80\n${tls}`), [
    ['f', { ports: '80' }],
    ['f-2', { ports: '443', certificates: ['a', 'b'] }],
  ])
  test.match(read(`mode http\nbind *:80\n${tls}\nredirect scheme https unless { ssl_fc }`), [
    ['f', { ports: '80,443', certificates: ['a', 'b'], httpRedirectToHttps: true }],
  ])
  test.match(read('bind 192.0.2.1:1 accept-proxy\nbind [2001:db8::1]:1'), [
    ['f', { ip: '192.0.2.1', proxyProtocol: true }],
    ['f-2', { ip: '2001:db8::1' }],
  ])
  test.end()
})

t.test('ports that differ in more than their certificates are separate, and so are files of one name', (test) => {
  test.match(read('bind *:80\nbind *:81 accept-proxy'), [
    ['f', { ports: '80' }],
    ['f-2', { ports: '81', proxyProtocol: true }],
  ])
  test.match(read('bind *:1 ssl crt /a/x.pem ssl-min-ver TLSv1.3\nbind *:2 ssl crt /b/x.pem ssl-min-ver TLSv1.0'), [
    ['f', { ports: '1', minTls: '1.3', certificates: ['x'] }],
    ['f-2', { ports: '2', minTls: '1.0', certificates: ['b-x'] }],
  ])
  test.notMatch(read('bind *:80 crt /a/x.pem'), [['f', { certificates: ['x'] }]], 'without TLS there')
  test.match(read('mode http\nbind *:80\ncompression type text/html'), [['f', { compression: { enabled: false } }]])
  test.end()
})

t.test('X-Forwarded-For is added where it was', (test) => {
  test.match(read('mode http\nbind *:80'), [['f', { forwardFor: false }]])
  test.match(read('mode http\nbind *:80\noption forwardfor'), [['f', { forwardFor: true }]])
  test.notMatch(read('mode tcp\nbind *:80\noption forwardfor'), [['f', { forwardFor: true }]])
  test.end()
})

t.test('an ACL with an unknown line is ignored, from there on', (test) => {
  const acl = (...lines: readonly string[]) => `acl a ${lines.join('\nacl a ')}`
  const use = 'use_backend b if a'
  test.match(read(`bind *:1\n${acl('path /x', 'path /y')}\n${use}`), [['f', { rules: [{}, {}] }]])
  const draft = new FrontendDraft()
  const take = (text: string) => {
    for (const line of linesOf(text))
      FRONTEND.get(line.words[0] ?? '')?.(draft, line.words.slice(1), line, new Reading())
  }
  take(`${acl('path /x')}\n${use}`)
  test.throws(() => take(acl('nosuch 1')), /nosuch/)
  test.throws(() => take(use), /ACL a is not supported/)
  test.throws(() => take(acl('nosuch 1')), /nosuch/)
  take(acl('path /z'))
  test.throws(() => take(use), /ACL a is not supported/)
  test.equal(draft.rules.backends.length, 1)
  // HAProxy itself has an ACL of this name, which means something else.
  test.throws(() => take('acl LOCALHOST src -f /etc/local'), /flag -f/)
  test.throws(() => take('http-request deny if !LOCALHOST'), /ACL LOCALHOST is not supported/)
  test.end()
})

t.test('anything without a counterpart is reported', (test) => {
  for (const line of [
    'mode health',
    'bind /run/x.sock',
    'bind *:443 ssl',
    'bind *:443 ssl crt a ciphers AES',
    'bind *:80 process 1',
    'timeout tarpit 5s',
    'use_backend b if nope',
    'redirect prefix /x',
    'redirect location /x drop-query',
    'bind 10.0.0.1:80,10.0.0.2:80',
    'http-request deny content-type text/plain deny_status 429',
    'http-request deny deny_status 200',
    'bind *:443 ssl crt a alpn h2,spdy/3',
    'http-request constructor',
    'bind *:80 constructor',
    `use_backend b if ${'{ path /a } or '.repeat(20)}{ path /b }`,
    'redirect scheme https if { path /a }',
    'http-request set-header X %[src]',
    'http-request set-header X a{source}b',
    'redirect location /{header.X}',
    'http-request lua.x',
    'http-request add-header X 1 if { path /a } or { path /b }',
    'compression algo raw-deflate',
  ])
    test.throws(() => read(line), line)
  test.end()
})

t.test('a rule from which a lost line made exceptions is reported', (test) => {
  const [draft, reading] = [new FrontendDraft(), new Reading()]
  const [allow, deny] = linesOf('http-request allow if { src 192.0.2.1 }\nhttp-request deny')
  const take = (line: typeof allow) =>
    line === undefined ? undefined : FRONTEND.get('http-request')?.(draft, line.words.slice(1), line, reading)
  test.throws(() => take(allow), /allow has no counterpart/)
  take(deny)
  test.match(reading.remarks, [{ line: 2, why: /made exceptions from it/ }])
  test.end()
})

t.test('a tarpit gives the answer of HAProxy', (test) => {
  const rule = (text: string) => read(`mode http\nbind *:80\nhttp-request tarpit ${text}`)
  test.match(rule(''), [['f', { rules: [{ do: { type: 'tarpit', status: 500 } }] }]])
  test.match(rule('deny_status 429'), [['f', { rules: [{ do: { type: 'tarpit', status: 429 } }] }]])
  test.end()
})

t.test('a listener on :: accepts IPv4 clients as well, unless v6only or another line prevents it', (test) => {
  test.match(read('bind :::80 v4v6'), [
    ['f', { ip: '::', ports: '80' }],
    ['f-2', { ip: '0.0.0.0', ports: '80' }],
  ])
  test.same(
    read('bind [::]:80 v6only').map(([, fields]) => Reflect.get(Object(fields), 'ip')),
    ['::'],
  )
  test.same(
    read('bind :::80\nbind *:80').map(([, fields]) => Reflect.get(Object(fields), 'ip')),
    ['::', '0.0.0.0'],
  )
  test.end()
})
