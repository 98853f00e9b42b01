// `npm test`: runs the test files, all or those that are named, and prints TAP; to a terminal as tap's own report.
// The command line of tap loads a module hook into each process of a test, the daemons among them. That is twice the
// processor time, and not what runs on an appliance (docs/decisions/98-tests-without-hooks.md).
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

// It says what tap is made of, and so comes before it.
await import('./test-process.mjs')
const { report } = await import('@tapjs/reporter')
const { default: t, TapFile } = await import('tap')

const ROOT = fileURLToPath(new URL('..', import.meta.url))
// What others would wait for comes first, then what is broad and quick, and then what takes longest, so that no processor
// waits for it at the end.
const ORDER = ['trees', 'contract', 'modules', 'longest', 'attack', 'system', 'oracle', 'bench', 'vm']
const LONGEST =
  `system/fronts system/package-content system/package-removal system/package-install system/rolling-update
  system/failover-faults system/cluster-begun-killed system/cluster-joined-killed system/cluster-leaving-alive
  system/cluster-leaving-last system/haproxy-3-1 system/haproxy-3-2 system/haproxy-3-3 system/haproxy-3-4
  system/haproxy-3-5 system/haproxy-3-6 system/haproxy-3-7 system/haproxy-3-8 system/haproxy-3-9
  system/mixed-versions system/nodes system/cluster-sharing system/cluster-pair-maintenance
  system/cluster-witness-removed system/cluster-witness-distant system/cluster-pair system/cluster-restoring
  system/cluster-leaving system/cluster-leaving-killed system/cluster-site system/cluster-joining
  system/cluster-moving system/haproxy-hangs system/haproxy-hangs-restarted system/cluster-log system/power
  system/updates system/cluster-history-1 system/cluster-history-2 system/snmp system/crash system/backup-crash
  system/code-cache system/observe-reloads system/apply-under-load system/network attack/injection
  attack/injection-layer4 bench/cluster bench/takeover bench/peers bench/configuration
  bench/interference bench/http system/sshd system/systemd system/start`.split(/\s+/)

const FLAGS = ['--no-warnings', '--import', `${ROOT}src/code-cache.mjs`, '--import', `${ROOT}.ci/test-process.mjs`]

// The settings of `npx tap FILE`. Most tests wait as much as they compute; the time limit is for what hangs.
const { scripts, tap: usual } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))
/** As the daemon: what a process has freed goes back, and its next program starts sooner. */
const MALLOC = Object.fromEntries([...scripts.start.matchAll(/(MALLOC_\w+)=(\d+)/g)].map(([, ...setting]) => setting))
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    jobs: { type: 'string', default: `${usual.jobs}` },
    timeout: { type: 'string', default: `${usual.timeout}` },
    // After so many minutes nothing more is begun: what is left is named, and counts as skipped.
    minutes: { type: 'string', default: 'Infinity' },
  },
})
const isLong = (file) => LONGEST.some((name) => file === `test/${name}.test.ts`)
const rank = (file) => {
  if (isLong(file)) return ORDER.indexOf('longest')
  const folder = ORDER.indexOf(file.split('/')[1])
  return folder < 0 ? ORDER.indexOf('modules') : folder
}
const files = positionals.length > 0 ? positionals : globSync(usual.include, { cwd: ROOT }).toSorted()
const queue = files.toSorted((a, b) => rank(a) - rank(b))
t.jobs = Number(values.jobs)
t.setTimeout(0)
if (process.stdout.isTTY) await report('base', t, { get: () => undefined })
t.plan(queue.length)

const MEMORY = '/dev/shm'
const ENOUGH_BYTES = 6 * 2 ** 30

function isRoomInMemory() {
  if (process.env.TMPDIR !== undefined || process.env.FULCRUM_TEST_VM !== undefined || !existsSync(MEMORY)) return false
  const { bavail, bsize } = statfsSync(MEMORY)
  return Math.min(bavail * bsize, process.availableMemory()) > ENOUGH_BYTES
}

/** A run that was killed must leave nothing in memory. */
function removeLeft() {
  for (const left of globSync(`${MEMORY}/fulcrum-tests-*`)) {
    const isOver = !existsSync(`/proc/${left.split('-').at(-2)}`)
    if (isOver && statSync(left).uid === process.getuid()) rmSync(left, { recursive: true, force: true })
  }
}

// What tests would wait for most is the disk, and none of them is about one: that takes a machine that can lose power.
removeLeft()
const folder = mkdtempSync(`${isRoomInMemory() ? MEMORY : tmpdir()}/fulcrum-tests-${process.pid}-`)
chmodSync(folder, 0o1777)
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

// A process runs many files. One in which a file failed is followed by another, and so is one that has grown: each
// program that it starts costs it a copy of its page tables (docs/decisions/100-test-files-share-processes.md).
const MIB = 2 ** 20
const rssMax = (file) => (/^test\/(?:contract|src)\//.test(file) ? 512 : 256) * MIB
/** A process says something each minute. One that does not even do that is ended. */
const SILENCE_MS = 5 * 60_000

function startProcess() {
  return spawn(process.execPath, [...FLAGS, '.ci/test-files.mjs'], {
    cwd: ROOT,
    stdio: ['ignore', 2, 2, 'ipc'],
    env: { ...process.env, ...MALLOC, TAP_TIMEOUT: values.timeout, TMPDIR: folder },
  })
}

/** Answers how large the process is then; too large for another file when this one failed. */
async function runFile(child, file) {
  const tapStream = new PassThrough({ encoding: 'utf8' })
  const done = t.sub(TapFile, { name: file, tapStream, buffered: t.jobs > 1, at: null, stack: '' })
  const silence = setTimeout(() => child.kill('SIGKILL'), SILENCE_MS)
  const rss = await new Promise((resolve) => {
    child.on('message', ({ tap, ended }) => {
      silence.refresh()
      if (tap !== undefined) tapStream.write(tap)
      if (ended !== undefined) resolve(ended.rss)
    })
    child.once('exit', (code, signal) => {
      tapStream.write(`not ok - its process ended with ${signal ?? code}\n`)
      resolve(Infinity)
    })
    child.send({ file })
  })
  clearTimeout(silence)
  child.removeAllListeners('message').removeAllListeners('exit')
  tapStream.end()
  const results = await done
  return results.ok ? rss : Infinity
}

const hasEnded = (child) => child.exitCode !== null || child.signalCode !== null

/** Fails when the process has ended by itself, or on its way out, or something that a test has left open keeps it. */
async function endProcess(child, ran) {
  if (!hasEnded(child)) {
    const exited = once(child, 'exit')
    child.disconnect()
    await exited
  }
  if (child.exitCode === 0) return
  process.stderr.write(`fulcrum: a process ended with ${child.signalCode ?? child.exitCode} behind ${ran.join(' ')}\n`)
  process.exitCode = 1
}

async function runNext() {
  let child
  let ran = []
  let rss = 0
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    if (performance.now() > Number(values.minutes) * 60_000) {
      t.pass(file, { skip: `not begun: ${values.minutes} minutes were over` })
      continue
    }
    if (child !== undefined && (rss > rssMax(file) || hasEnded(child))) {
      await endProcess(child, ran)
      child = undefined
      ran = []
    }
    child ??= startProcess()
    ran.push(file)
    rss = await runFile(child, file)
  }
  if (child !== undefined) await endProcess(child, ran)
}
await Promise.all(Array.from({ length: t.jobs }, runNext))
