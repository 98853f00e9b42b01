import t from 'tap'
import { BACKEND, BackendDraft, backendOf, checkedAtLines } from '../../../src/haproxy-cfg/backend.ts'
import { linesOf } from '../../../src/haproxy-cfg/lines.ts'
import { Reading } from '../../../src/haproxy-cfg/reading.ts'

function read(text: string) {
  const [draft, reading] = [new BackendDraft(), new Reading()]
  for (const line of linesOf(text)) {
    const [word = '', ...words] = line.words
    BACKEND.get(word)?.(draft, words, line, reading)
  }
  const lines = checkedAtLines(draft)
  return { backend: backendOf(draft), lines, servers: draft.servers, remarks: reading.remarks.map(({ why }) => why) }
}

t.test('checks', (test) => {
  const check = (text: string) => read(`${text}\nserver a 192.0.2.1:80 check`).backend['healthCheck']
  test.same(read('server a 192.0.2.1:80').backend['healthCheck'], { type: 'none' })
  test.same(check(''), { type: 'tcp' })
  test.same(check('option httpchk'), { type: 'http', path: '/' })
  test.same(check('option httpchk /up'), { type: 'http', path: '/up' })
  test.same(check('option httpchk GET /up\nhttp-check expect status 200-299,301'), {
    type: 'http',
    path: '/up',
    expect: '200-299,301',
  })
  test.match(check('option httpchk\nhttp-check expect rstatus ^[23]'), { expect: '200-399' })
  test.match(check('option httpchk\nhttp-check expect rstatus ^[2-4]..'), { expect: '200-499' })
  test.throws(() => check('http-check expect rstatus ^[25]'))
  test.throws(() => check('http-check expect rstatus 2'))
  test.match(check('option httpchk\nhttp-check send meth GET uri /x ver HTTP/1.1 hdr Host a.test'), {
    path: '/x',
    host: 'a.test',
  })
  test.match(check('default-server inter 3s rise 4 fall 5'), { interval: 3, rise: 4, fall: 5 })
  const escaped = String.raw`option httpchk GET /up HTTP/1.1\r\nHost:\ a.test\r\nAuthorization:\ Basic\ eA==`
  for (const text of [escaped, escaped.replace('HTTP', "'HTTP").replaceAll('\\ ', ' ').concat("'")]) {
    test.same(check(text), { type: 'http', path: '/up', host: 'a.test' })
    test.match(read(text).remarks, ['the header Authorization of a check has no counterpart'])
  }
  test.same(check('http-check send meth GET uri /x'), { type: 'tcp' }, 'without httpchk, HAProxy only connects')
  test.same(check('option httpchk GET /x\nhttp-check expect status 200\noption tcp-check'), { type: 'tcp' })
  const [draft, reading] = [new BackendDraft(), new Reading()]
  for (const line of linesOf('option httpchk GET /x\noption mysql-check user u\nserver a 192.0.2.1:3306 check')) {
    const take = () => BACKEND.get(line.words[0] ?? '')?.(draft, line.words.slice(1), line, reading)
    if (line.words[1] === 'mysql-check') test.throws(take, /checked by a connection/)
    else take()
  }
  test.same(backendOf(draft)['healthCheck'], { type: 'tcp' }, 'databases fail the HTTP check of defaults')
  for (const wrong of [
    'http-check expect string up',
    'http-check connect',
    'http-check send body x',
    'http-check expect ! status 5',
  ])
    test.throws(() => check(wrong), wrong)
  test.match(read('server a 192.0.2.1:80 check\nserver b 192.0.2.2:80').remarks, [/all servers of a backend, or none/])
  test.end()
})

t.test('a port and an address of checks, one for all checked servers', (test) => {
  const lines = (text: string) => read(text).lines
  test.same(lines('server a 192.0.2.1:80 check'), [])
  test.same(lines('server a 192.0.2.1:80 check port 8008'), ['default-server port 8008'])
  test.same(lines('default-server port 8008 addr ::1\nserver a 192.0.2.1:80 check\nserver b 192.0.2.2:80 check'), [
    'default-server addr ::1 port 8008',
  ])
  test.same(lines('server a 192.0.2.1:80 port 1\nserver b 192.0.2.2:80 check port 2'), ['default-server port 2'])
  test.same(lines('server a 192.0.2.1:80 port 1'), [], 'none is checked')
  for (const wrong of [
    'server a 192.0.2.1:80 check port 1\nserver b 192.0.2.2:80 check port 2',
    'server a 192.0.2.1:80 check\nserver b 192.0.2.2:80 check port 2',
    'server a 192.0.2.1:80 check port +1',
    'server a 192.0.2.1:80 check addr health.test',
  ])
    test.throws(() => read(wrong), wrong)
  test.end()
})

t.test('servers', (test) => {
  const member = (options: string) => read(`server a 192.0.2.1:80 ${options}`).servers[0]?.member
  test.same(member('weight 5 maxconn 7 backup send-proxy-v2'), { weight: 5, maxConn: 7, backup: true, sendProxy: true })
  test.same(member('ssl verify none'), { encrypted: true })
  test.same(member('ssl verify required sni str(a.test)'), { encrypted: true, verify: true, sni: 'a.test' })
  test.match(read('server a 192.0.2.1:80 ssl verify required').remarks, [/is no longer verified/])
  test.same(member('ssl ca-file /x sni str(a.test)'), { encrypted: true, verify: true, sni: 'a.test' })
  test.match(read('server a 192.0.2.1:80 check inter 1s\nserver b 192.0.2.2:80 check inter 9s').remarks, [
    /has one interval/,
  ])
  test.same(member('maxconn 0'), {}, 'no limit')
  const places =
    'server a 192.0.2.1\nserver b [2001:db8::1]:81\nserver c web.test:82 disabled\nserver d ipv4@10.0.0.1:0'
  test.match(read(places).servers, [
    { ip: '192.0.2.1', port: null },
    { ip: '2001:db8::1', port: 81 },
    { ip: 'web.test', port: 82, isHalted: true },
    { ip: '10.0.0.1', port: null },
  ])
  for (const wrong of [
    'a /run/x.sock',
    // HAProxy takes these for the address that the client connected to.
    'a 0.0.0.0:80',
    'a [::]:80',
    'a *:80',
    'a my_app:80',
    'a app.test.:80',
    'a 10.0.0.1:80 socks4 1.2.3.4:5',
    'a 10.0.0.1:80 sni req.hdr(host)',
    'a ${IP}:80',
  ])
    test.throws(() => read(`server ${wrong}`), wrong)
  test.end()
})

t.test('the rest', (test) => {
  const { backend } = read(
    'mode http\nbalance uri\nhttp-reuse always\ntimeout queue 5s\nhttp-response set-header X-A "b c"',
  )
  test.same(backend, {
    mode: 'http',
    balance: 'uri',
    httpReuse: 'always',
    healthCheck: { type: 'none' },
    rules: [{ do: { type: 'setHeader', name: 'X-A', value: 'b c' } }],
    timeouts: { queue: 5 },
  })
  test.match(read('stick on src\nstick-table type ip size 1m expire 0').backend, {
    persistence: { type: 'ip', timeout: 1800 },
  })
  test.match(read('stick on src\nstick-table type ip size 1m expire 90s').backend, {
    persistence: { type: 'ip', timeout: 90 },
  })
  const long = read('timeout connect 2h\ntimeout tunnel 7d\ntimeout server 24d')
  test.match(long.backend, { timeoutConnect: 3600, timeoutServer: 86_400, timeouts: { tunnel: 86_400 } })
  test.match(long.remarks, [/3600 s, the longest/, /86400 s, the longest/, /86400 s, the longest/])
  const both = 'stick-table type ip size 1m expire 9s\nstick on src\ncookie S insert indirect nocache'
  test.match(read(`mode http\n${both}`).backend, { persistence: { type: 'cookie', cookieName: 'S' } })
  test.match(read(both).backend, { persistence: { type: 'ip', timeout: 9 } }, 'mode tcp has no cookies')
  for (const wrong of [
    'cookie a:b insert indirect nocache',
    'balance hdr(x)',
    'balance uri depth 3',
    'cookie S prefix',
    'cookie S insert domain x',
    'stick on req.cook(a)',
    'option redis-check',
  ])
    test.throws(() => read(wrong), wrong)
  test.end()
})
