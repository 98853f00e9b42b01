import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { chronyDriver } from '../../src/drivers/chrony/driver.ts'
import { RecordingHost } from '../../workers/host/recording-host.ts'
import { readClock } from '../../workers/probe/clock.ts'
import { viewOf } from '../fixtures/view.ts'
import { containerObstacle, containerTree } from './container.ts'
import { finished } from './debian-tree.ts'
import { cable, namespace, type Namespace, namespaceObstacle } from './network-namespace.ts'

/**
 * Debian's chrony in its own namespaces for network, files and processes. It runs with -x and without the right to set
 * a clock, so this machine's clock is only read.
 */

const CONFIG = '/etc/chrony/chrony.conf'
const SYNCHRONISED_MS_MAX = 180_000
const NO_CLOCK = ['setpriv', '--bounding-set=-sys_time', '--pdeathsig', 'TERM'] as const
const IN_OVERLAY = `mount -t overlay overlay -o lowerdir="$1",upperdir="$2/upper",workdir="$2/work" "$2/root" && root="$2/root" && shift 2 && exec chroot "$root" "$@"`

t.setTimeout(1_800_000)
const obstacle = containerObstacle() ?? (await namespaceObstacle())
const skip = obstacle ?? false

/** Arguments for a program that sees a Debian with `text` in `file`, and leaves nothing behind. */
async function inDebian(test: Test, file: string, text: string, argv: readonly string[]): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-chrony-'))
  test.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['upper', 'work', 'root']) mkdirSync(join(folder, name))
  mkdirSync(join(folder, 'upper', dirname(file)), { recursive: true })
  writeFileSync(join(folder, 'upper', file), text)
  return [...NO_CLOCK, 'unshare', '-m', 'sh', '-c', IN_OVERLAY, 'sh', await containerTree(), folder, ...argv]
}

async function startChronyd(test: Test, { name }: Namespace, text: string): Promise<void> {
  const argv = await inDebian(test, CONFIG, text, ['chronyd', '-x', '-d', '-f', CONFIG])
  const chronyd = spawn('nsenter', [`--net=/run/netns/${name}`, ...argv], { stdio: 'ignore' })
  const ended = once(chronyd, 'exit')
  test.teardown(async () => {
    chronyd.kill('SIGTERM')
    await ended
  })
}

const configured = (servers: readonly string[]) =>
  viewOf({ clocks: [{ id: 'node', timezone: '', ntp: { enabled: true, servers } }] } as never)

function renderedFor(servers: readonly string[]): string {
  const [file] = chronyDriver('node').render(configured(servers))
  if (file?.path !== CONFIG) throw new Error('chrony.conf is not rendered')
  return file.content
}

t.test('a clock follows the server of our file, and the probe reports it', { skip }, async (test) => {
  const [server, client] = [await namespace(test, 'ntp'), await namespace(test, 'node')]
  await cable(server, 'eth0', client, 'eth0', 1)
  await server.ip('addr add 10.9.0.1/24 dev eth0')
  await client.ip('addr add 10.9.0.2/24 dev eth0')
  const tree = await containerTree()
  const host = new RecordingHost()
  const clock = () => readClock(host, (argv, timeout_ms) => client.run(['chroot', tree, ...argv], timeout_ms))

  test.equal((await clock()).tracking, undefined, 'no chrony runs')
  await startChronyd(test, client, renderedFor(['10.9.0.1', '10.9.0.77']))
  await startChronyd(test, server, 'local stratum 8\nallow 10.9.0.0/24\n')
  const deadline = performance.now() + SYNCHRONISED_MS_MAX
  let { tracking } = await clock()
  while (tracking?.synchronised !== true && performance.now() < deadline) {
    if (tracking !== undefined) test.match(tracking, { synchronised: false, reference: null, stratum: 0, offset_s: 0 })
    await sleep(500)
    tracking = (await clock()).tracking
  }
  test.match(tracking, { synchronised: true, reference: '10.9.0.1', stratum: 9 })
  test.ok(Math.abs(tracking?.offset_s ?? 1) < 1, 'both read the same clock')
  test.same(
    tracking?.servers.map(({ name, reachable }) => [name, reachable]),
    [
      ['10.9.0.1', true],
      ['10.9.0.77', false],
    ],
  )
  const said = (await client.run(['chroot', tree, 'chronyc', 'tracking'], 5000)).output
  test.match(said, /Reference ID {4}: 0A090001 \(10\.9\.0\.1\)/, 'chronyc agrees')
})

t.test('chronyd checks our file, and a refused line is blamed on its server', { skip }, async (test) => {
  const judge = async (text: string) => {
    const [program = '', ...args] = await inDebian(test, `${CONFIG}.candidate`, text, [
      'chronyd',
      '-p',
      '-f',
      `${CONFIG}.candidate`,
    ])
    return finished(program, args)
  }
  const servers = ['ntp.example.test', '2001:db8::7', '192.0.2.9']
  const good = await judge(renderedFor(servers))
  test.equal(good.exitCode, 0, good.stderr)
  test.equal((await judge(renderedFor([]))).exitCode, 0, 'the servers of Debian')
  const bad = await judge(renderedFor(servers).replace('server 192.0.2.9 iburst', 'server 192.0.2.9 iburst burstless'))
  test.not(bad.exitCode, 0)
  const [problem] = chronyDriver('node').diagnose(`${bad.stdout}${bad.stderr}`, configured(servers))
  test.match(problem, {
    section: 'clocks',
    id: 'node',
    field: 'ntp.servers.2',
    message: /^Could not parse server directive at line 4/,
  })
})
