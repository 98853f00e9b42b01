// `npm test`: runs the test files, all or those that are named, and prints TAP; to a terminal as tap's own report.
// The command line of tap loads a module hook into each process of a test, the daemons among them. That is twice the
// processor time, and not what runs on an appliance (docs/decisions/98-tests-without-hooks.md).
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

// It says what tap is made of, and so comes before it.
await import('./test-process.mjs')
const { report } = await import('@tapjs/reporter')
const { default: t } = await import('tap')

const ROOT = fileURLToPath(new URL('..', import.meta.url))
// Test files of modules share a process, so many at a time, and so do those that mostly call an appliance within their
// process: what one has loaded and compiled serves the next. Those that take longest have one of their own.
const TOGETHER = [
  { files: /^test\/contract\//, max: 7 },
  { files: /^test\/(?:[^/]+$|src\/|storage\/|workers\/)/, max: 36 },
  { files: /^test\/attack\//, max: 7 },
  { files: /^test\/system\//, max: 3 },
]
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
  system/code-cache system/observe-reloads system/apply-under-load system/network attack/injection-1
  attack/injection-2 attack/injection-layer4 bench/cluster bench/takeover bench/peers bench/configuration
  bench/interference bench/http system/sshd system/systemd system/start`.split(/\s+/)

const FLAGS = ['--no-warnings', '--import', `${ROOT}src/code-cache.mjs`, '--import', `${ROOT}.ci/test-process.mjs`]

// The settings of `npx tap FILE`. Most tests wait as much as they compute; the time limit is for what hangs.
const { include, jobs, timeout } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')).tap
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    jobs: { type: 'string', default: `${jobs}` },
    timeout: { type: 'string', default: `${timeout}` },
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
const files = positionals.length > 0 ? positionals : globSync(include, { cwd: ROOT }).toSorted()
const kindOf = (file) => (isLong(file) ? undefined : TOGETHER.find((one) => one.files.test(file)))
const groups = [...Map.groupBy(files, kindOf)]
  .flatMap(([kind, members]) => {
    const max = kind?.max ?? 1
    const from = Array.from({ length: Math.ceil(members.length / max) }, (_, at) => at * max)
    return from.map((at) => members.slice(at, at + max))
  })
  .toSorted(([a], [b]) => rank(a) - rank(b))

t.jobs = Number(values.jobs)
t.setTimeout(0)
if (process.stdout.isTTY) await report('base', t, { get: () => undefined })
t.plan(groups.length)

async function runGroup(group) {
  const [first = ''] = group
  const name = group.length === 1 ? first : `${first} and ${group.length - 1} more`
  if (performance.now() > Number(values.minutes) * 60_000) {
    t.pass(name, { skip: `not begun: ${values.minutes} minutes were over` })
    return
  }
  const program = group.length === 1 ? [first] : ['.ci/test-files.mjs', ...group]
  await t.spawn(
    process.execPath,
    [...FLAGS, ...program],
    {
      cwd: ROOT,
      buffered: t.jobs > 1,
      // The limit is one file's; many that hang in one process are no reason to wait for hours.
      timeout: (Number(values.timeout) + 30 * group.length) * 1000,
      env: { ...process.env, TAP_TIMEOUT: values.timeout },
    },
    name,
  )
}

async function runNext() {
  for (let group = groups.shift(); group !== undefined; group = groups.shift()) await runGroup(group)
}
await Promise.all(Array.from({ length: t.jobs }, runNext))
