import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { createNotifier } from '../../../src/daemon/sd-notify.ts'
import { untilHolds } from '../../fixtures/until.ts'

const run = promisify(execFile)
const notifyExec = fileURLToPath(new URL('../../../systemd/notify-exec', import.meta.url))

/** Socket addresses are limited to 108 characters, which a folder of the project may exceed. */
function shortFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-notify-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return folder
}

function recorder() {
  const sent: [number, string][] = []
  return { sent, write: (fd: number, datagram: string) => sent.push([fd, datagram]) }
}

t.test('says ready, status and stopping on the inherited descriptor', (t) => {
  const { sent, write } = recorder()
  const notifier = createNotifier({ NOTIFY_SOCKET: 'fd:7' }, write)
  notifier.ready('Listening on https://127.0.0.1:9443')
  notifier.status('Applying revision 3')
  notifier.stopping()
  t.strictSame(sent, [
    [7, 'READY=1\nSTATUS=Listening on https://127.0.0.1:9443'],
    [7, 'STATUS=Applying revision 3'],
    [7, 'STOPPING=1\nSTATUS=Stopping'],
  ])
  t.end()
})

t.test('a line feed in a status cannot start another assignment', (t) => {
  const { sent, write } = recorder()
  createNotifier({ NOTIFY_SOCKET: 'fd:3' }, write).status('a\nMAINPID=1\r\nb')
  t.strictSame(sent, [[3, 'STATUS=a MAINPID=1 b']])
  t.end()
})

t.test('does nothing without a descriptor for it', (t) => {
  for (const NOTIFY_SOCKET of [undefined, '', '/run/systemd/notify', '@abstract', 'fd:', 'fd:-1', 'fd:3x']) {
    const { sent, write } = recorder()
    const notifier = createNotifier({ NOTIFY_SOCKET, WATCHDOG_USEC: '1000' }, write)
    notifier.ready('x')
    notifier.startWatchdog(() => true)
    notifier.close()
    t.strictSame(sent, [], String(NOTIFY_SOCKET))
  }
  t.end()
})

t.test('a full or closed socket does not throw', (t) => {
  const notifier = createNotifier({ NOTIFY_SOCKET: 'fd:3' }, () => {
    throw Object.assign(new Error('resource temporarily unavailable'), { code: 'EAGAIN' })
  })
  t.doesNotThrow(() => notifier.ready('x'))
  t.end()
})

t.test('pings at half the interval while healthy, and stops when not', async (t) => {
  let isHealthy = true
  let checks = 0
  const { sent, write } = recorder()
  const notifier = createNotifier({ NOTIFY_SOCKET: 'fd:3', WATCHDOG_USEC: '20000' }, write)
  t.teardown(() => notifier.close())
  const checked = (count: number) => {
    const target = checks + count
    return untilHolds(() => checks >= target)
  }
  const started = performance.now()
  notifier.startWatchdog(() => {
    checks += 1
    return isHealthy
  })
  t.strictSame(sent, [[3, 'WATCHDOG=1']], 'the first ping comes at once')
  await checked(5)
  t.ok(performance.now() - started >= 45, 'five pings of 10 ms')
  isHealthy = false
  const before = sent.length
  await checked(3)
  t.equal(sent.length, before)
})

t.test('no watchdog without an interval', (t) => {
  for (const WATCHDOG_USEC of [undefined, '', '0', 'x', '-5']) {
    const { sent, write } = recorder()
    createNotifier({ NOTIFY_SOCKET: 'fd:3', WATCHDOG_USEC }, write).startWatchdog(() => true)
    t.strictSame(sent, [], String(WATCHDOG_USEC))
  }
  t.end()
})

t.test('notify-exec', { skip: existsSync('/usr/bin/perl') ? false : 'no perl' }, async (t) => {
  const script = `
    const { createNotifier } = await import(process.argv[1])
    const notifier = createNotifier(process.env)
    notifier.ready('up ' + process.pid)
    notifier.stopping()`
  const nodeArgs = [
    '--input-type=module',
    '-e',
    script,
    new URL('../../../src/daemon/sd-notify.ts', import.meta.url).href,
  ]

  await t.test('the program keeps its process id and its datagrams arrive', async (t) => {
    const path = join(shortFolder(t), 'notify')
    const receiver = spawn('/usr/bin/perl', [
      '-MSocket',
      '-e',
      `$| = 1; socket(my $s, AF_UNIX, SOCK_DGRAM, 0); bind($s, pack_sockaddr_un($ARGV[0])) or die; print "bound\\n";
       for (1..2) { recv($s, my $d, 4096, 0); $d =~ s/\\n/ /g; print "$d\\n" }`,
      path,
    ])
    const lines = createInterface({ input: receiver.stdout })[Symbol.asyncIterator]()
    t.equal((await lines.next()).value, 'bound')
    const program = spawn(notifyExec, [process.execPath, ...nodeArgs], {
      env: { NOTIFY_SOCKET: path },
      stdio: 'inherit',
    })
    t.equal((await lines.next()).value, `READY=1 STATUS=up ${program.pid}`)
    t.equal((await lines.next()).value, 'STOPPING=1 STATUS=Stopping')
    await once(receiver, 'close')
  })

  await t.test('without a socket it only starts the program', async (t) => {
    const { stdout } = await run(notifyExec, [process.execPath, '-p', 'process.env.NOTIFY_SOCKET ?? "none"'], {
      env: {},
    })
    t.equal(stdout, 'none\n')
  })

  await t.test('a socket without a listener is one clear line', async (t) => {
    const env = { NOTIFY_SOCKET: join(shortFolder(t), 'missing') }
    const failure: unknown = await run(notifyExec, [process.execPath, '-p', '1'], { env }).catch(
      (error: unknown) => error,
    )
    t.match(failure, { stderr: 'notify-exec: connect: No such file or directory\n' })
  })
})
