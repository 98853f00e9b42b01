import { spawn, spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { BUILT_IN_CHECKS } from '../../src/model/health-check.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { SANDBOX, sandboxProblem } from '../fixtures/sandbox.ts'
import { freePort } from '../fixtures/traffic.ts'
import { freeradius, freeradiusObstacle, SHARED_SECRET } from './freeradius.ts'

const skip = sandboxProblem()
const BOTH = ['127.0.0.1', '::1'] as const
const scriptOf = (id: string) => fileURLToPath(new URL(`../../src/health-checks/built-in/${id}.sh`, import.meta.url))

/** Runs a built-in check in the sandbox; returns its exit status. The limit is for a check that hangs. */
async function check(id: string, ip: string, port: number, flags: readonly string[] = [], seconds = 120) {
  const child = spawn(SANDBOX, ['test', String(seconds), scriptOf(id), '0.0.0.0', '0', ip, String(port), ...flags])
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [status] = await once(child, 'close')
  return { status: Number(status), output }
}

async function served(test: Test, server: Server, ip: string): Promise<number> {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.on('error', () => undefined)
  })
  server.listen(0, ip)
  await once(server, 'listening')
  test.teardown(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Answers each datagram with the result of `answer`. */
async function datagrams(test: Test, ip: string, answer: (sent: Buffer) => Buffer | undefined): Promise<number> {
  const socket = createSocket(ip.includes(':') ? 'udp6' : 'udp4')
  socket.on('message', (sent, from) => {
    try {
      const reply = answer(sent)
      if (reply !== undefined) socket.send(reply, from.port, from.address)
    } catch {
      // A previous user of this port may still get a datagram.
    }
  })
  socket.bind(0, ip)
  await once(socket, 'listening')
  test.teardown(() => socket.close())
  return socket.address().port
}

t.test('tcp', { skip }, async (test) => {
  for (const ip of BOTH) test.match(await check('tcp', ip, await served(test, createServer(), ip)), { status: 0 }, ip)
  test.not((await check('tcp', '127.0.0.1', await freePort())).status, 0)
})

t.test('http: path, host, statuses and a text', { skip }, async (test) => {
  for (const ip of BOTH) {
    const server = createHttpServer(({ url, headers }, response) => {
      response.writeHead(url === '/teapot' ? 418 : 200).end(`hello ${headers.host} ${url}`)
    })
    const port = await served(test, server, ip)
    const status = async (...flags: string[]) => (await check('http', ip, port, flags)).status
    test.equal(await status('--path=/', '--expect=200-399'), 0)
    test.equal(await status('--path=/teapot'), 2)
    test.equal(await status('--path=/teapot', '--expect=200,400-418'), 0)
    test.equal(
      await status('--path=/a?b=c&d=[1]', '--host=www.example.org:81', '--text=hello www.example.org:81 /a?b=c&d=[1]'),
      0,
    )
    test.equal(await status('--text=$(id)'), 3)
    test.equal(await status('--expect=a[$(id)]'), 1)
  }
})

t.test('http: only a text needs the body', { skip }, async (test) => {
  const server = createHttpServer(({ url }, response) => {
    response.writeHead(url === '/busy' ? 503 : 200)
    // Longer than the sandbox allows a file to be; the dripping one never ends.
    if (url === '/drip') response.write('x')
    else response.end(Buffer.alloc(20 * 1024 * 1024, 'x'))
  })
  const port = await served(test, server, '127.0.0.1')
  for (const path of ['/long', '/drip']) {
    test.strictSame(await check('http', '127.0.0.1', port, [`--path=${path}`]), { status: 0, output: 'status 200\n' })
  }
  test.strictSame(await check('http', '127.0.0.1', port, ['--path=/busy']), { status: 2, output: 'status 503\n' })
  test.match(await check('http', '127.0.0.1', port, ['--text=x']), { status: 1 })
  test.match(await check('http', '127.0.0.1', await freePort()), { status: 1, output: /connect/i })
})

t.test('https: the host is the server name of TLS', { skip }, async (test) => {
  const { cert, key } = certificateMaker(test).pair({ name: 'www.example.org' })
  const names: unknown[] = []
  const server = createHttpsServer({ cert, key }, ({ socket }, response) => {
    names.push((socket as TLSSocket).servername)
    response.end('fine')
  })
  const port = await served(test, server, '127.0.0.1')
  test.match(await check('https', '127.0.0.1', port, ['--host=www.example.org', '--text=fine']), { status: 0 })
  test.match(await check('https', '127.0.0.1', port), { status: 0 })
  test.same(names, ['www.example.org', false])
  const plain = await served(
    test,
    createHttpServer((_, response) => response.end()),
    '127.0.0.1',
  )
  test.not((await check('https', '127.0.0.1', plain)).status, 0)
})

t.test('smtp: greeting and EHLO of one line or several', { skip }, async (test) => {
  const mail = (greeting: string, answer: string, said: string[]) =>
    createServer((socket) => {
      socket.write(greeting)
      socket.on('data', (chunk) => {
        said.push(chunk.toString())
        socket.write(answer)
      })
    })
  const said: string[] = []
  const good = await served(test, mail('220-one\r\n220 two\r\n', '250-mail\r\n250-SIZE\r\n250 HELP\r\n', said), '::1')
  test.match(await check('smtp', '::1', good, ['--domain=lb.example.org']), { status: 0 })
  test.equal(said[0], 'EHLO lb.example.org\r\n')
  const busy = await served(test, mail('421 busy\r\n', '', []), '127.0.0.1')
  test.match(await check('smtp', '127.0.0.1', busy), { status: 2 })
  const strict = await served(test, mail('220 hi\r\n', '550 no\r\n', []), '127.0.0.1')
  test.match(await check('smtp', '127.0.0.1', strict), { status: 3 })
})

/** A name server that knows two addresses of every name, behind an alias. */
function dnsAnswer(query: Buffer, code = 0): Buffer {
  const question = query.subarray(12)
  const type = question.readUInt16BE(question.length - 4)
  const header = Buffer.from([...query.subarray(0, 2), 0x81, 0x80 | code, 0, 1, 0, code === 0 ? 3 : 0, 0, 0, 0, 0])
  const record = (kind: number, data: Buffer) =>
    Buffer.concat([Buffer.from([0xc0, 0x0c, 0, kind, 0, 1, 0, 0, 0, 60, 0, data.length]), data])
  const addresses =
    type === 28 ? ['20010db8000000000000000000000001', '20010db80001000000000000000000ff'] : ['c0000201', 'c6336407']
  const alias = record(5, Buffer.from([3, 0x77, 0x77, 0x77, 0xc0, 0x0c]))
  const records = [alias, ...addresses.map((hex) => record(type, Buffer.from(hex, 'hex')))]
  return Buffer.concat([header, question, ...(code === 0 ? records : [])])
}

t.test('dns: an answer without an error, and an address among the answers', { skip }, async (test) => {
  for (const ip of BOTH) {
    const port = await datagrams(test, ip, (query) => dnsAnswer(query))
    const status = async (...flags: string[]) =>
      (await check('dns', ip, port, ['--name=www.example.org', ...flags])).status
    test.equal(await status(), 0)
    test.equal(await status('--answer=198.51.100.7'), 0)
    test.equal(await status('--answer=198.51.100.8'), 4)
    test.equal(await status('--type=AAAA', '--answer=2001:db8:1::FF'), 0)
    test.equal(await status('--type=AAAA', '--answer=2001:db8:1::fe'), 4)
    test.equal(await status('--type=NONE'), 1)
    // The length of a label of ten characters is the newline byte.
    test.match(await check('dns', ip, port, ['--name=tencharact.example.org']), { status: 0, output: /^3 answers$/m })
  }
  const failing = await datagrams(test, '127.0.0.1', (query) => dnsAnswer(query, 2))
  test.match(await check('dns', '127.0.0.1', failing, ['--name=a']), { status: 3 })
  const liar = await datagrams(test, '127.0.0.1', (query) =>
    Buffer.concat([query.subarray(0, 2), Buffer.alloc(40, 0xff)]),
  )
  test.not((await check('dns', '127.0.0.1', liar, ['--name=a', '--answer=192.0.2.1'])).status, 0)
  // A server that echoes the query, with another bit or for another name, knows nothing.
  const echo = await datagrams(test, '127.0.0.1', (query) => query)
  test.match(await check('dns', '127.0.0.1', echo, ['--name=a.example']), { status: 2, output: /no answer/ })
  const other = await datagrams(test, '127.0.0.1', (query) => {
    const answer = dnsAnswer(query)
    answer[13] = (answer[13] ?? 0) ^ 1
    return answer
  })
  test.match(await check('dns', '127.0.0.1', other, ['--name=a.example']), { status: 2, output: /another question/ })
  const lower = await datagrams(test, '127.0.0.1', (query) =>
    dnsAnswer(Buffer.concat([query.subarray(0, 12), Buffer.from(query.subarray(12).toString('latin1').toLowerCase())])),
  )
  test.match(await check('dns', '127.0.0.1', lower, ['--name=WWW.Example.org']), { status: 0 })
  const silent = await datagrams(test, '127.0.0.1', () => undefined)
  test.match(await check('dns', '127.0.0.1', silent, ['--name=a'], 1), { status: 137 })
})

t.test('ldap: an anonymous bind that is accepted', { skip }, async (test) => {
  const directory = (answer: string, asked: string[]) =>
    createServer((socket) => {
      socket.on('data', (chunk) => {
        asked.push(chunk.toString('hex'))
        socket.write(Buffer.from(answer, 'hex'))
      })
    })
  const asked: string[] = []
  const port = await served(test, directory('300c02010161070a010004000400', asked), '127.0.0.1')
  test.match(await check('ldap', '127.0.0.1', port), { status: 0 })
  test.equal(asked[0]?.slice(0, 28), '300c020101600702010304008000')
  const longer = await served(test, directory('3084000000100201016184000000070a010004000400', []), '::1')
  test.match(await check('ldap', '::1', longer), { status: 0 })
  const refusing = await served(test, directory('300c02010161070a013104000400', []), '127.0.0.1')
  test.match(await check('ldap', '127.0.0.1', refusing), { status: 2 })
})

/** The beginning of the MySQL protocol; `logins` are its answers to what follows the greeting. */
function mysql(greeting: string, logins: readonly string[], sent: string[]) {
  return createServer((socket) => {
    socket.write(Buffer.from(greeting, 'hex'))
    const answers = [...logins]
    socket.on('data', (chunk) => {
      sent.push(chunk.toString('hex'))
      const answer = answers.shift()
      if (answer !== undefined) socket.write(Buffer.from(answer, 'hex'))
    })
  })
}
const GREETING = `4a0000000a${Buffer.from('8.0.36\0').toString('hex')}${'00'.repeat(66)}`
const OK = '0700000200000002000000'

t.test('mysql: the greeting, and a user without a password', { skip }, async (test) => {
  const sent: string[] = []
  const port = await served(test, mysql(GREETING, [OK], sent), '127.0.0.1')
  test.match(await check('mysql', '127.0.0.1', port), { status: 0 })
  test.match(await check('mysql', '127.0.0.1', port, ['--user=haproxy']), { status: 0 })
  const login = Buffer.from(sent[0] ?? '', 'hex')
  test.equal(login.readUIntLE(0, 3), login.length - 4, 'the packet length')
  test.equal(login.subarray(36, 46).toString(), 'haproxy\0\0', 'user and empty password')
  const switching = await served(test, mysql(GREETING, ['02000002fe00', OK.replace('0002', '0004')], []), '::1')
  test.match(await check('mysql', '::1', switching, ['--user=a']), { status: 0 })
  const denied = await served(test, mysql(GREETING, ['05000002ff15042341'], []), '127.0.0.1')
  test.match(await check('mysql', '127.0.0.1', denied, ['--user=a']), { status: 3 })
  const full = await served(test, mysql('05000000ff10040000', [], []), '127.0.0.1')
  test.match(await check('mysql', '127.0.0.1', full), { status: 2 })
})

t.test('udp: a reply, no reply, and a closed port', { skip }, async (test) => {
  for (const ip of BOTH) {
    const sent: string[] = []
    const port = await datagrams(test, ip, (asked) => {
      sent.push(asked.toString('hex'))
      return Buffer.from('abcd00ff', 'hex')
    })
    const status = async (...flags: string[]) => (await check('udp', ip, port, flags)).status
    test.equal(await status('--payload=00FF00'), 0)
    test.same(sent, ['00ff00'])
    test.equal(await status('--payload=010a02'), 0)
    test.same(sent, ['00ff00', '010a02'], 'a newline is an ordinary byte')
    test.equal(await status('--payload=01', '--reply=ABCD00'), 0)
    test.equal(await status('--payload=01', '--reply=abce'), 3)
    test.equal(await status('--payload=0'), 1)
  }
  const silent = await datagrams(test, '127.0.0.1', () => undefined)
  test.match(await check('udp', '127.0.0.1', silent, ['--payload=01']), { status: 0 })
  test.match(await check('udp', '127.0.0.1', silent, ['--payload=01', '--reply=01'], 1), { status: 137 })
  test.match(await check('udp', '127.0.0.1', await freePort(), ['--payload=01']), { status: 2 })
})

const radiusSkip = skip === false ? ((await freeradiusObstacle()) ?? false) : skip

t.test('radius: a server that knows the secret, which is never visible', { skip: radiusSkip }, async (test) => {
  const { port } = (await freeradius(test)).host
  // Not under /tmp, which the sandbox replaces.
  const file = `/var/tmp/fulcrum-secret-${process.pid}`
  test.teardown(() => rmSync(file, { force: true }))
  const keep = (secret: string) => writeFileSync(file, `${secret}\n`, { mode: 0o644 })
  keep(SHARED_SECRET)
  const words = [`--secretFile=${file}`]
  // A server with another secret stays silent until the limit.
  test.equal((await check('radius', '127.0.0.1', Number(port), words)).status, 0)
  keep('another')
  test.not((await check('radius', '127.0.0.1', Number(port), words, 3)).status, 0)
  test.not((await check('radius', '127.0.0.1', Number(port), ['--secretFile=/nothing'])).status, 0)
  test.notMatch(readFileSync(scriptOf('radius'), 'utf8'), /-hmac|-macopt/, 'no secret is a word of a command')
})

const pingSkip = process.getuid?.() === 0 ? skip : 'a network of its own needs root'

t.test('ping', { skip: pingSkip }, async (test) => {
  // In its own network, because the right to ping is a setting of it.
  const inside = `ip link set lo up; echo "0 2147483647" >/proc/sys/net/ipv4/ping_group_range
for ip in 127.0.0.1 ::1; do "$0" test 120 "$1" 0 0 $ip 0 || exit 1; done; "$0" test 1 "$1" 0 0 192.0.2.1 0; [ $? -ne 0 ]`
  const words = ['--net', 'sh', '-c', inside, SANDBOX, scriptOf('ping')]
  const { status, stderr } = spawnSync('unshare', words, { encoding: 'utf8' })
  test.equal(status, 0, stderr)
})

t.test('every built-in check is here', async (test) => {
  const text = readFileSync(fileURLToPath(import.meta.url), 'utf8')
  for (const id of BUILT_IN_CHECKS) test.match(text, `t.test('${id}`, id)
})
