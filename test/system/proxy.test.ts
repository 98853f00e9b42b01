import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { egressProxyDriver, type EgressProxyPaths } from '../../src/drivers/egress-proxy/driver.ts'
import type { SystemProxy } from '../../src/model/node.ts'
import { executePlan } from '../../workers/executor.ts'
import { LinuxHost } from '../../workers/host/linux-host.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { viewOf } from '../fixtures/view.ts'
import { finished } from './debian-tree.ts'

/** Debian's apt with our files in a separate folder, through a proxy that requires a name and a password. */

const HELPER = '/usr/lib/apt/apt-helper'
const obstacle = process.getuid?.() !== 0 ? 'needs root' : existsSync(HELPER) ? undefined : 'apt is not installed'
const skip = obstacle ?? false
t.setTimeout(1_800_000)

async function listening(test: Test, server: Server, host: string): Promise<number> {
  server.listen(0, host)
  await once(server, 'listening')
  test.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Answers for every host itself, and records the requested ones. */
async function forwardProxy(test: Test, credentials: string) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const [scheme, sent = ''] = (request.headers['proxy-authorization'] ?? '').split(' ')
    if (scheme !== 'Basic' || Buffer.from(sent, 'base64').toString() !== credentials) {
      response.writeHead(407, { 'Proxy-Authenticate': 'Basic realm="test"', 'Content-Length': 0 }).end()
      return
    }
    asked.push(request.url ?? '')
    response.end('through the proxy')
  })
  server.on('connect', (request, socket) => {
    asked.push(`CONNECT ${request.url}`)
    socket.end('HTTP/1.1 503 No\r\n\r\n')
  })
  return { asked, port: await listening(test, server, '127.0.0.1') }
}

async function aptFixture(test: Test) {
  const root = temporaryFolder(test, 'apt')
  chmodSync(root, 0o755)
  const parts = join(root, 'etc/apt/apt.conf.d')
  mkdirSync(parts, { recursive: true })
  const paths: EgressProxyPaths = {
    apt: join(parts, '95fulcrum-proxy'),
    bypassScript: join(root, 'etc/apt/fulcrum-proxy-bypass'),
    environment: join(root, 'machine/proxy.env'),
  }
  const main = join(root, 'apt.conf')
  writeFileSync(main, `Dir::Etc::parts "${parts}";\nDir::Etc::main "/dev/null";\nAcquire::Retries "0";\n`)
  const host = new LinuxHost({ layer7proxy: { mode: 'systemd', masterSocket: '' } }, join(root, 'machine'))
  const driver = egressProxyDriver('node', paths)
  let running: SystemProxy | undefined
  const apply = async (settings: SystemProxy | undefined) => {
    const view = (one: SystemProxy | undefined) => viewOf({ systemProxies: one === undefined ? [] : [one] })
    const steps = driver.plan(running && view(running), view(settings), { atLeast: 'runtime' })
    test.match(await executePlan(host, steps), { ok: true })
    running = settings
  }
  let count = 0
  const fetched = async (url: string, environment: readonly string[] = []) => {
    const folder = join(root, `out-${++count}`)
    mkdirSync(folder)
    // Otherwise apt would fetch as root, because its own account could not write here.
    await finished('chown', ['_apt', folder])
    const file = join(folder, 'file')
    const { exitCode, stdout, stderr } = await finished('env', [
      '-i',
      `APT_CONFIG=${main}`,
      ...environment,
      HELPER,
      'download-file',
      url,
      file,
    ])
    const said = `${stdout}${stderr}`
    return { exitCode, said, text: existsSync(file) ? readFileSync(file, 'utf8') : undefined }
  }
  return { paths, apply, fetched }
}

const settings = (port: number, more: Partial<SystemProxy> = {}): SystemProxy => ({
  id: 'node',
  enable: true,
  address: { value: '127.0.0.1', port },
  username: 'fetcher',
  password: 'secret',
  bypass: [],
  ...more,
})

const exists = (path: string) => existsSync(path)
const mode = (path: string) => (statSync(path).mode & 0o777).toString(8)

t.test('apt fetches through the proxy with name and password, and is refused without them', { skip }, async (test) => {
  const { asked, port } = await forwardProxy(test, 'fetcher:secret')
  const { apply, fetched, paths } = await aptFixture(test)
  await apply(settings(port))
  test.same([mode(paths.apt), mode(paths.environment), exists(paths.bypassScript)], ['600', '600', false])
  test.match(await fetched('http://deb.example.test/a'), { exitCode: 0, text: 'through the proxy' })
  test.same(asked.splice(0), ['http://deb.example.test/a'])
  await fetched('https://deb.example.test/b')
  test.same(asked.splice(0), ['CONNECT deb.example.test:443'], 'and over TLS as well')

  await apply(settings(port, { password: 'wrong' }))
  const refused = await fetched('http://deb.example.test/c')
  test.match(refused, { said: /407/, text: undefined })
  test.not(refused.exitCode, 0)
  test.notMatch(refused.said, /wrong/, 'apt does not reveal the password')
  test.same(asked, [])

  await apply(settings(port, { username: '', password: '' }))
  test.equal(mode(paths.apt), '644', 'without a secret every user may read it')
  test.match(await fetched('http://deb.example.test/d'), { said: /407/ })
  await apply(settings(port, { enable: false }))
  test.same([paths.apt, paths.bypassScript, paths.environment].filter(exists), [], 'switched off: nothing is left')
})

t.test('no character of a name or a password is special to apt', { skip }, async (test) => {
  const hostile = [
    ['user', 'a b"c\'d;e%41f\\g'],
    ['do"main\\us;er', '";Acquire::http::Proxy "http://192.0.2.1/";#'],
    ['ü@ser', '//p@ss:w/rd?{}#$(id)`id`'],
    ['100%', '%%25%0a'],
    ['only a name', ''],
  ] as const
  for (const [username, password] of hostile) {
    const { asked, port } = await forwardProxy(test, `${username}:${password}`)
    const { apply, fetched } = await aptFixture(test)
    await apply(settings(port, { username, password }))
    const got = await fetched('http://deb.example.test/a')
    test.match(got, { exitCode: 0, text: 'through the proxy' }, `${username}:${password} ${got.said}`)
    test.same(asked, ['http://deb.example.test/a'])
  }
})

t.test('bypassed hosts never use the proxy', { skip }, async (test) => {
  const { asked, port } = await forwardProxy(test, 'fetcher:secret')
  const { apply, fetched, paths } = await aptFixture(test)
  const origin = await listening(
    test,
    createServer((_, response) => response.end('direct')),
    '127.0.0.1',
  )
  const cases = [
    { bypass: ['localhost'], url: `http://localhost:${origin}/host`, isDirect: true },
    { bypass: ['localhost'], url: `http://127.0.0.1:${origin}/other`, isDirect: false },
    { bypass: ['127.0.0.1'], url: `http://127.0.0.1:${origin}/address`, isDirect: true },
    { bypass: ['192.0.2.0/24', '127.0.0.0/8'], url: `http://127.0.0.1:${origin}/network`, isDirect: true },
    { bypass: ['126.0.0.0/8'], url: `http://127.0.0.1:${origin}/outside`, isDirect: false },
  ]
  for (const { bypass, url, isDirect } of cases) {
    await apply(settings(port, { bypass }))
    test.equal(mode(paths.bypassScript), '755')
    const got = await fetched(url)
    test.match(got, { exitCode: 0, text: isDirect ? 'direct' : 'through the proxy' }, `${url} ${got.said}`)
    test.notMatch(got.said, /unsandboxed/, 'apt fetched under its own account')
    test.same(asked.splice(0), isDirect ? [] : [url])
  }
  await apply(settings(port))
  test.notOk(exists(paths.bypassScript), 'an empty list needs no script')
  await fetched(`http://localhost:${origin}/again`)
  test.equal(asked.length, 1)
})

t.test('apt matches no_proxy by suffixes of names, so it is started without it', { skip }, async (test) => {
  const { asked, port } = await forwardProxy(test, 'fetcher:secret')
  const { apply, fetched } = await aptFixture(test)
  await apply(settings(port, { bypass: ['example.test'] }))
  const url = 'http://anexample.test/a'
  test.match(await fetched(url), { exitCode: 0, text: 'through the proxy' })
  test.same(asked.splice(0), [url])
  test.match(await fetched(url, ['no_proxy=example.test']), { text: undefined })
  test.same(asked.splice(0), [], 'a host that is not bypassed')
  test.match(await fetched(url, ['NO_PROXY=example.test']), { exitCode: 0, text: 'through the proxy' })
})
