import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { until, untilHolds } from '../fixtures/until.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { SANDBOX, sandboxProblem } from '../fixtures/sandbox.ts'

const skip = sandboxProblem()

interface Options {
  readonly seconds?: number
  readonly words?: readonly string[]
  /** The account that starts it, where that can be chosen. */
  readonly as?: number
}

/** Runs a script in the sandbox as a balancer would. */
async function run(test: Test, script: string, { seconds = 120, words = [], as }: Options = {}) {
  const folder = temporaryFolder(test, 'sandbox')
  const file = join(folder, 'script')
  writeFileSync(file, script)
  const account = as === undefined || process.getuid?.() !== 0 ? {} : { uid: as, gid: as }
  if (as !== undefined) chmodSync(folder, 0o755)
  // A copy: not every account can enter the folder of the sources.
  const sandbox = join(folder, 'sandbox')
  copyFileSync(SANDBOX, sandbox)
  const child = spawn(sandbox, ['test', String(seconds), file, '0', '0', '127.0.0.1', '80', ...words], account)
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk))
  const [status, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.on('close', (...how) => resolve(how))
  })
  return { status: signal === null ? status : signal, output: Buffer.concat(chunks).toString(), pid: child.pid ?? 0 }
}

/** Returns the processes of this machine with the mark in their command line. */
function processes(mark: string): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) && Number(pid) !== process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(mark)
      )
    } catch {
      return false
    }
  })
}
async function gone(mark: string): Promise<void> {
  await until(
    'their end',
    () => processes(mark),
    ({ length }) => length === 0,
  )
}
let count = 0
/** A number of seconds that no other process here sleeps. */
const unlike = () => `9${process.pid}.${(count += 1)}`

t.test('a script that hangs is killed in time', { skip }, async (test) => {
  const mark = unlike()
  const { status } = await run(test, `#!/bin/sh\ntrap "" TERM INT HUP\nsleep ${mark}\n`, { seconds: 1 })
  test.equal(status, 137)
  await gone(mark)
})

t.test('processes that a script leaves behind, in a session of their own too, end with it', { skip }, async (test) => {
  const mark = unlike()
  const script = `#!/bin/bash\nsetsid -f sleep ${mark}\n(trap "" HUP TERM; sleep ${mark}) & disown\nexit 0\n`
  test.equal((await run(test, script)).status, 0)
  await gone(mark)
})

t.test('one signal to the started process ends all of them', { skip }, async (test) => {
  const mark = unlike()
  const folder = temporaryFolder(test, 'sandbox')
  writeFileSync(join(folder, 'script'), `#!/bin/sh\nsetsid -f sleep ${mark}\ntrap "" TERM\nsleep ${mark}\n`)
  const child = spawn(SANDBOX, ['check', '60', join(folder, 'script'), '0', '0', '127.0.0.1', '80'])
  await untilHolds(() => processes(mark).length >= 2)
  child.kill('SIGTERM')
  await gone(mark)
})

t.test('a fork bomb stays in its box', { skip }, async (test) => {
  const mark = unlike()
  const script = `#!/bin/bash\nfor i in {1..300}; do sleep ${mark} & done 2>/dev/null\njobs -r | wc -l\nexit 4\n`
  const { output, status } = await run(test, script, { seconds: 2 })
  test.ok(Number(output.trim() === '' ? 0 : output.trim().split('\n').at(-1)) <= 64, output.slice(-80))
  test.not(status, 0)
  await gone(mark)
  test.equal(spawnSync('true').status, 0, 'other programs start as before')
})

t.test('a script that fills /tmp, or all file systems, fills a little memory of its own', { skip }, async (test) => {
  const script = `#!/bin/bash
(head -c 100000000 /dev/zero >/tmp/a) 2>/dev/null
for i in 1 2 3; do head -c 10000000 /dev/zero >/tmp/b$i 2>/dev/null; done
echo $(du -s -B1 /tmp | cut -f1)
for place in / /etc /usr /dev /dev/shm /var /run /home; do { : >$place/x; } 2>/dev/null && echo "wrote $place"; done
exit 0
`
  const { output, status } = await run(test, script)
  test.equal(status, 0)
  test.ok(Number(/^\d+$/m.exec(output)?.[0]) <= 17_000_000, output)
  test.notMatch(output, 'wrote')
})

t.test('a script cannot exceed its memory limit', { skip }, async (test) => {
  const { status } = await run(test, `#!/bin/bash\nx=$(head -c 400000000 /dev/zero | tr '\\0' x)\necho "\${#x}"\n`)
  test.not(status, 0)
})

const python = '/usr/bin/python3'
const shareSkip = skip === false && !existsSync(python) ? `no ${python}` : skip

t.test('shared memory counts as well', { skip: shareSkip }, async (test) => {
  const script = `#!${python}\nimport mmap\nmmap.mmap(-1, 700 << 20)\nprint("shared")\n`
  const { status, output } = await run(test, script)
  test.not(status, 0)
  test.notMatch(output, /^shared/m)
})

t.test('it makes no namespaces, where it would have all capabilities', { skip }, async (test) => {
  const { output } = await run(test, '#!/bin/bash\nunshare -Urn true 2>&1 && echo made\nexit 0\n')
  test.match(output, /unshare failed/)
  test.notMatch(output, 'made')
})

const SOCKETS = `#!/usr/bin/perl
use Socket qw(:DEFAULT IN6ADDR_LOOPBACK pack_sockaddr_in6);
sub told { print shift, $_[0] ? " yes\\n" : " no\\n" }
told('local', socket(my $a, AF_UNIX, SOCK_STREAM, 0));
told('datagrams', socketpair(my $b, my $c, AF_UNIX, SOCK_DGRAM, 0));
told('pair', socketpair(my $d, my $e, AF_UNIX, SOCK_STREAM, 0));
told('name', bind($d, pack('S a*', AF_UNIX, "\\0fulcrum-test-${process.pid}-of-a-folder")));
told('tcp', socket(F, AF_INET, SOCK_STREAM, 0) && bind(F, pack_sockaddr_in(0, INADDR_LOOPBACK)));
told('tcp6', socket(G, AF_INET6, SOCK_STREAM, 0) && bind(G, pack_sockaddr_in6(0, IN6ADDR_LOOPBACK)));
told('udp', socket(H, AF_INET, SOCK_DGRAM, 0) && bind(H, pack_sockaddr_in(0, INADDR_LOOPBACK)));
told('ring', syscall(425, 4, 0) >= 0);
`
const socketSkip = skip === false && process.arch !== 'x64' ? 'calls are those of x86-64' : skip

t.test(
  'it has the network and no local sockets: it cannot take a name that another program waits for',
  { skip: socketSkip },
  async (test) => {
    const { output } = await run(test, SOCKETS)
    test.equal(output, 'local no\ndatagrams no\npair yes\nname no\ntcp yes\ntcp6 yes\nudp yes\nring no\n')
    const file = join(temporaryFolder(test, 'sockets'), 'script')
    writeFileSync(file, SOCKETS, { mode: 0o755 })
    const outside = spawnSync(file, { encoding: 'utf8' }).stdout
    test.match(outside, /^local yes\ndatagrams yes\npair yes\nname yes\n/, 'outside it has them')
  },
)

t.test('it cannot undo its place as the first victim when memory is short', { skip }, async (test) => {
  const script = '#!/bin/bash\n{ echo 0 >/proc/self/oom_score_adj; } 2>/dev/null\ncat /proc/self/oom_score_adj\n'
  test.equal((await run(test, script, { as: 65_534 })).output.trim(), '1000')
})

t.test('it sees no foreign process, and a signal to all processes reaches none', { skip }, async (test) => {
  const other = spawn('sleep', ['60'])
  test.teardown(() => other.kill())
  const { output } = await run(
    test,
    `#!/bin/bash\nkill -9 ${other.pid} 2>&1\nls /proc | grep -c '^[0-9]'\nkill -9 -1\necho after\n`,
  )
  test.match(output, /No such process/)
  test.ok(Number(/^\d+$/m.exec(output)?.[0]) < 10, output)
  test.equal(other.exitCode, null)
  test.equal(other.signalCode, null)
})

t.test('it has no capabilities, and no account of the machine', { skip }, async (test) => {
  const script =
    '#!/bin/sh\nid -u\ngrep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status\nmount -t tmpfs x /tmp 2>&1\n'
  const { output } = await run(test, script)
  test.match(output, /CapEff:\s+0+\nCapBnd:\s+0+\nNoNewPrivs:\s+1\n/)
  if (process.getuid?.() === 0) test.notMatch(output, /^0\n/, 'a checker that is root is not root inside')
  test.match(output, /mount: .*(denied|superuser|not permitted)/i)
})

t.test('it reads nothing but programs, names and the files that its parameters name', { skip }, async (test) => {
  const folders = '/var /root /home /run /etc/shadow /etc/haproxy'
  const script = `#!/bin/bash\ncat "\${5#*=}" 2>&1\nls ${folders} 2>/dev/null\nexit 0\n`
  const hidden = await run(test, script, { words: ['/etc/passwd'] })
  test.match(hidden.output, 'No such file')
  const named = await run(test, script, { words: ['--file=/etc/passwd'] })
  test.match(named.output, /^root:/)
  test.notMatch(named.output, /^\//m)
})

t.test('of a script that prints rubbish and changes its name, only the exit status counts', { skip }, async (test) => {
  const script = '#!/bin/bash\nprintf "status 0\\0\\377ok"\nexec -a "haproxy -W" bash -c "exit 9"\n'
  test.equal((await run(test, script)).status, 9)
})

t.test('the network is shared', { skip }, async (test) => {
  const server = createServer((socket) => socket.end('hello\n')).listen(0, '127.0.0.1')
  test.teardown(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  const { output } = await run(test, `#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/${port}\ncat <&3\n`)
  test.equal(output, 'hello\n')
})

t.test('a script that is not a program fails', { skip }, async (test) => {
  test.not((await run(test, '#!/no/such/interpreter\n')).status, 0)
})

t.test('a failing script is run once, and no second sandbox is made to report why', { skip }, (test) => {
  const folder = temporaryFolder(test, 'one-sandbox')
  const text = readFileSync(SANDBOX, 'utf8').replace('export PATH=', `export PATH=${folder}:`)
  writeFileSync(join(folder, 'sandbox'), text, { mode: 0o755 })
  const counts = `#!/bin/sh\nPATH=/usr/bin:/bin\necho made >>${folder}/made\nexec bwrap "$@"\n`
  writeFileSync(join(folder, 'bwrap'), counts, { mode: 0o755 })
  spawnSync('chmod', ['777', folder])
  const ended = (script: string) => {
    writeFileSync(join(folder, 'script'), script)
    writeFileSync(join(folder, 'made'), '', { mode: 0o666 })
    spawnSync('chmod', ['666', join(folder, 'made')])
    const words = ['check', '120', join(folder, 'script'), '0', '0', '127.0.0.1', '80']
    const { status, stdout, stderr } = spawnSync(join(folder, 'sandbox'), words, { encoding: 'utf8' })
    return { status, output: stdout + stderr, made: readFileSync(join(folder, 'made'), 'utf8') }
  }
  test.strictSame(ended('#!/bin/sh\necho no >&2\nexit 7\n'), { status: 7, output: 'no\n', made: 'made\n' })
  test.strictSame(ended('#!/bin/sh\nkill -9 $$\n'), { status: 137, output: '', made: 'made\n' })
  test.match(
    ended('#!/bin/sh\nls -l /proc/self/fd\nexit 1\n').output.match(/ -> /g)?.length,
    4,
    'its own three, and the folder',
  )
  test.end()
})

t.test('without a sandbox nothing is run: probe and test report that, a check keeps the state of servers', (test) => {
  const folder = temporaryFolder(test, 'no-sandbox')
  // The same text, which finds another bwrap.
  const text = readFileSync(SANDBOX, 'utf8').replace('export PATH=', `export PATH=${folder}:`)
  writeFileSync(join(folder, 'sandbox'), text, { mode: 0o755 })
  writeFileSync(join(folder, 'bwrap'), '#!/bin/sh\necho "bwrap: no namespaces" >&2\nexit 1\n', { mode: 0o755 })
  spawnSync('chmod', ['755', folder])
  writeFileSync(join(folder, 'script'), `#!/bin/sh\n: >${folder}/ran\n`)
  writeFileSync(join(folder, 'date'), '#!/bin/sh\necho 120\n', { mode: 0o755 })
  writeFileSync(join(folder, 'logger'), `#!/bin/sh\necho "$@" >>${folder}/told\n`, { mode: 0o755 })
  const call = (...words: string[]) => spawnSync(join(folder, 'sandbox'), words, { encoding: 'utf8' })
  test.match(call('probe'), { status: 125, stderr: /no sandbox .*: bwrap: no namespaces|bwrap: no namespaces/ })
  const words = ['5', join(folder, 'script'), '0', '0', '127.0.0.1', '80']
  test.match(call('test', ...words), { status: 125, stderr: /There can be no sandbox/ })
  test.match(call('check', ...words), { status: 0 })
  test.notOk(existsSync(join(folder, 'ran')))
  const told = readFileSync(join(folder, 'told'), 'utf8')
  test.match(told, /nothing was checked: 127\.0\.0\.1 80\n$/, 'the journal gets a message')
  // In the middle of a minute it was reported already.
  writeFileSync(join(folder, 'date'), '#!/bin/sh\necho 150\n')
  test.match(call('check', ...words, '--key=x'), { status: 0 })
  test.equal(readFileSync(join(folder, 'told'), 'utf8'), told)
  test.equal(call('other').status, 64)
  test.end()
})

t.test('every account can run the file', async (test) => {
  test.equal(statSync(SANDBOX).mode & 0o111, 0o111)
})
