import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import type { Test } from 'tap'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { until } from '../fixtures/until.ts'
import { freePort, isListening } from '../fixtures/traffic.ts'
import { output } from './tls-frontend.ts'

export interface PebbleOptions {
  /** Port at which it validates HTTP-01. */
  readonly httpPort: number
  /** Port of its handshakes for TLS-ALPN-01. */
  readonly tlsPort?: number
  readonly env?: Readonly<Record<string, string>>
  /** Addresses of names, other than 127.0.0.1. */
  readonly hosts?: Readonly<Record<string, string>>
  /** Keys of externally known accounts, by id. */
  readonly bindings?: Readonly<Record<string, string>>
}

/**
 * A CA for tests, by the authors of RFC 8555: names are at 127.0.0.1. It ends with the test. `dns` is the port of its
 * name server, `names` the port at which the name server's records are set.
 */
export async function pebbleFixture(test: Test, { httpPort, tlsPort, env = {}, hosts = {}, bindings }: PebbleOptions) {
  const { pair, folder } = certificateMaker(test)
  const [port, management, dns, names] = [await freePort(), await freePort(), await freePort(), await freePort()]
  const root = pair({ name: 'root.test', isCa: true })
  const server = pair({ name: 'ca.test', issuer: root, names: 'IP:127.0.0.1' })
  const inFolder = (name: string, text: string) => {
    const file = join(folder, name)
    writeFileSync(file, text)
    return file
  }
  const config = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${management}`,
    certificate: inFolder('pebble.crt', server.cert),
    privateKey: inFolder('pebble.key', server.key),
    httpPort,
    tlsPort: tlsPort ?? (await freePort()),
    ocspResponderURL: '',
    externalAccountBindingRequired: bindings !== undefined,
    externalAccountMACKeys: bindings ?? {},
  }
  const file = inFolder('pebble.json', JSON.stringify({ pebble: config }))
  const off = ['-http01', '', '-https01', '', '-tlsalpn01', '', '-defaultIPv6', '']
  const resolver = spawn(
    'pebble-challtestsrv',
    [...off, '-dns01', `127.0.0.1:${dns}`, '-management', `127.0.0.1:${names}`],
    { stdio: 'ignore' },
  )
  let running: ChildProcess | undefined
  let log = ''
  const directoryUrl = `https://127.0.0.1:${port}/dir`
  const stop = async () => {
    const child = running
    running = undefined
    if (child === undefined || child.exitCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  const start = async () => {
    const child = spawn('pebble', ['-config', file, '-dnsserver', `127.0.0.1:${dns}`], {
      env: { PATH: process.env['PATH'], PEBBLE_VA_NOSLEEP: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running = child
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (log += String(text)))
    const answers = () => output('curl', '-sk', directoryUrl)
    await until('the CA', answers, (text) => text.includes('newOrder'))
  }
  test.teardown(async () => {
    await stop()
    resolver.kill('SIGKILL')
  })
  await until('its name server', () => isListening(names), Boolean)
  await start()
  for (const [host, ip] of Object.entries(hosts)) {
    const told = { host, addresses: [ip] }
    await output('curl', '-s', '-d', JSON.stringify(told), `http://127.0.0.1:${names}/add-a`)
  }
  return { directoryUrl, root: root.cert, start, stop, log: () => log, dns, names }
}
