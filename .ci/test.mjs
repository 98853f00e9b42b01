// `npm test`: runs all test files, or those named, and prints TAP, or tap's own report on a terminal. The command line
// of tap loads a module hook into each process of a test, the daemons among them. That doubles the processor time, and
// differs from an appliance (docs/decisions/98-tests-without-hooks.md).
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

// Replaces parts of tap, so it comes first.
await import('./test-process.mjs')
const { report } = await import('@tapjs/reporter')
const { default: t, TapFile } = await import('tap')

const ROOT = fileURLToPath(new URL('..', import.meta.url))
// Files that others would wait for come first, then the broad and quick ones, and then those that take longest, so that
// no processor idles at the end.
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

// The settings of `npx tap FILE`. Most tests wait as much as they compute; the time limit is for tests that hang.
const { scripts, tap: usual } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))
/** The same as the daemon's: processes return freed memory, which makes their next child process start sooner. */
const MALLOC = Object.fromEntries([...scripts.start.matchAll(/(MALLOC_\w+)=(\d+)/g)].map(([, ...setting]) => setting))
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    jobs: { type: 'string', default: `${usual.jobs}` },
    timeout: { type: 'string', default: `${usual.timeout}` },
    // After this many minutes no further file starts: the remaining ones are named, and count as skipped.
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

/** Removes the folders of killed runs from memory. */
function removeLeft() {
  for (const left of globSync(`${MEMORY}/fulcrum-tests-*`)) {
    const isOver = !existsSync(`/proc/${left.split('-').at(-2)}`)
    if (isOver && statSync(left).uid === process.getuid()) rmSync(left, { recursive: true, force: true })
  }
}

// Tests would mostly wait for the disk, and none of them tests one: that takes a machine that can lose power.
removeLeft()
const folder = mkdtempSync(`${isRoomInMemory() ? MEMORY : tmpdir()}/fulcrum-tests-${process.pid}-`)
chmodSync(folder, 0o1777)
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

// A process runs many files. It is replaced after a failure, and when it has grown: each program that it starts costs
// it a copy of its page tables (docs/decisions/100-test-files-share-processes.md).
const MIB = 2 ** 20
const rssMax = (file) => (/^test\/(?:contract|src)\//.test(file) ? 512 : 256) * MIB
/** A process sends something every minute; one that stays silent for longer is killed. */
const SILENCE_MS = 5 * 60_000

function startProcess() {
  return spawn(process.execPath, [...FLAGS, '.ci/test-files.mjs'], {
    cwd: ROOT,
    stdio: ['ignore', 2, 2, 'ipc'],
    env: { ...process.env, ...MALLOC, TAP_TIMEOUT: values.timeout, TMPDIR: folder },
  })
}

/**
 * Returns the process's resident memory afterwards, or Infinity if the file failed, so that the process is replaced.
 */
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

/** Fails if the process crashed, failed while exiting, or was kept alive by something that a test left open. */
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
