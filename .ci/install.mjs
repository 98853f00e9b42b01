// Prepares a fresh clone to run: `node .ci/install.mjs start|test|bench|package`. Plain JavaScript for any Node from 20
// on. Prints nothing if nothing is missing.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const LOCK = join(ROOT, 'package-lock.json')
const STAMP = join(ROOT, 'node_modules', '.fulcrum-lock')
const BUSY = join(ROOT, '.cache', 'install.lock')
const BUSY_AGE_MS_MAX = 15 * 60_000
const NODE_MAJOR_MIN = 20

/**
 * Maps programs to Debian packages. Each mode includes the programs of the modes before it, except those of `package`.
 */
const PROGRAMS = {
  package: { 'dpkg-deb': 'dpkg', git: 'git' },
  start: { haproxy: 'haproxy', perl: 'perl-base' },
  test: {
    openssl: 'openssl',
    rrdtool: 'rrdtool',
    strace: 'strace',
    curl: 'curl',
    ip: 'iproute2',
    sysctl: 'procps',
    ping: 'iputils-ping',
    'systemd-nspawn': 'systemd-container',
    mmdebstrap: 'mmdebstrap',
    snmpd: 'snmpd',
    snmpget: 'snmp',
    snmptrapd: 'snmptrapd',
    // The program is written in Python, hence the name of its package.
    aiosmtpd: 'python3-aiosmtpd',
    freeradius: 'freeradius',
    radclient: 'freeradius-utils',
    sslscan: 'sslscan',
    bwrap: 'bubblewrap',
    keepalived: 'keepalived',
    nft: 'nftables',
    unshare: 'util-linux',
    wrk: 'wrk',
    h2load: 'nghttp2-client',
    pebble: 'pebble',
    prometheus: 'prometheus',
    'victoria-metrics': 'victoria-metrics',
    // This package depends on that of the program itself.
    rsyslogd: 'rsyslog-openssl',
    'ansible-playbook': 'ansible-core',
    // The browsers for the tests of the admin page; 80 MB each, and 17 s for the second one.
    chromium: 'chromium',
    'firefox-esr': 'firefox-esr',
  },
  bench: {},
}
const MODES = Object.keys(PROGRAMS)
/** The daemon needs the production packages only; the others are installed when a mode first needs them. */
const NEEDS_ALL = new Set(['test', 'bench'])
const TELL_EVERY_MS = 5_000

const say = (line) => process.stderr.write(`fulcrum: ${line}\n`)

function fail(line) {
  say(line)
  process.exit(1)
}

const lockHash = () => createHash('sha256').update(readFileSync(LOCK)).digest('hex')
const PRODUCTION = ' production'

/** The stamp is the hash of the lock, followed by a word if only the production packages are installed. */
function isInstalled(all) {
  try {
    const stamp = readFileSync(STAMP, 'utf8')
    return stamp === lockHash() || (!all && stamp === `${lockHash()}${PRODUCTION}`)
  } catch {
    return false
  }
}

/** Returns the entries of the lock that this installation must have. Optional ones may be for other machines. */
function wantedPackages(all) {
  const { packages } = JSON.parse(readFileSync(LOCK, 'utf8'))
  return Object.entries(packages).filter(
    ([path, entry]) => path !== '' && entry.optional !== true && (all || entry.dev !== true),
  )
}

/** Returns whether somebody ran `npm ci` by hand: npm's own record of the folder then equals the lock. */
function matchesLock(all) {
  const record = join(ROOT, 'node_modules', '.package-lock.json')
  if (!existsSync(record)) return false
  const wanted = JSON.parse(readFileSync(LOCK, 'utf8')).packages
  const found = JSON.parse(readFileSync(record, 'utf8')).packages
  const isSame = (path) =>
    found[path]?.version === wanted[path]?.version && found[path]?.integrity === wanted[path]?.integrity
  return Object.keys(found).every(isSame) && wantedPackages(all).every(([path]) => isSame(path))
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function isAbandoned() {
  try {
    if (Date.now() - statSync(BUSY).mtimeMs > BUSY_AGE_MS_MAX) return true
    const pid = Number(readFileSync(BUSY, 'utf8'))
    return pid > 0 && !isAlive(pid)
  } catch {
    return false
  }
}

const release = () => rmSync(BUSY, { force: true })

/** Allows one installation at a time in a clone: two `npm ci` at once would delete each other's work. */
async function withLock(work) {
  mkdirSync(join(ROOT, '.cache'), { recursive: true })
  for (let round = 0; ; round += 1) {
    try {
      writeFileSync(BUSY, String(process.pid), { flag: 'wx' })
      break
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
      if (isAbandoned()) rmSync(BUSY, { force: true })
      else {
        if (round === 0) say('another installation is running in this folder; waiting for it')
        await new Promise((resolve) => setTimeout(resolve, 200))
      }
    }
  }
  process.on('exit', release)
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))
  try {
    return await work()
  } finally {
    release()
    // By the time this process exits, another one may hold the lock.
    process.off('exit', release)
  }
}

/** Runs a program to its end, and reports progress every few seconds. */
async function run(program, args, options, progress) {
  const started = performance.now()
  const seconds = () => Math.round((performance.now() - started) / 1000)
  const child = spawn(program, args, options)
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text) => (stderr += text))
  child.stdout?.resume()
  const timer = setInterval(() => say(`  … ${progress()}${seconds()} s`), TELL_EVERY_MS)
  try {
    const [status] = await once(child, 'close')
    return { status, stderr, seconds: seconds() }
  } catch (error) {
    return { status: undefined, stderr: error.message, seconds: seconds() }
  } finally {
    clearInterval(timer)
  }
}

async function npmCi(all) {
  const npm = process.env.npm_execpath
  // `ci` deletes the folder first. A daemon running from it must still find its packages while those of the tests are
  // added.
  const how = all && isInstalled(false) ? ['install', '--no-save'] : ['ci']
  const words = [...how, all ? '--include=dev' : '--omit=dev', '--no-audit', '--no-fund', '--loglevel=error']
  const [program, args] = npm?.endsWith('.js') ? [process.execPath, [npm, ...words]] : ['npm', words]
  const folders = wantedPackages(all).map(([path]) => join(ROOT, path, 'package.json'))
  // Names no number: npm adds optional packages for this machine, and reports the total.
  say(`installing the npm packages that ${all ? 'tests and checks need' : 'the daemon needs'} …`)
  const share = () => folders.filter((file) => existsSync(file)).length / folders.length
  const progress = () => `${Math.floor(100 * share())} % of the packages, `
  const { status, stderr, seconds } = await run(program, args, { cwd: ROOT, stdio: ['ignore', 2, 2] }, progress)
  if (status === undefined) fail(`cannot run npm: ${stderr}`)
  if (status !== 0) fail(`npm ${how[0]} failed (exit ${status}); nothing was started`)
  say(`npm packages installed in ${seconds} s`)
}

async function installPackages(all) {
  if (isInstalled(all)) return
  await withLock(async () => {
    if (isInstalled(all)) return
    if (!matchesLock(all)) await npmCi(all)
    // An installation by hand for tests serves them as well.
    writeFileSync(STAMP, matchesLock(true) ? lockHash() : `${lockHash()}${PRODUCTION}`)
  })
}

function isOnPath(program) {
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    '/usr/local/sbin',
    '/usr/sbin',
    '/sbin',
    '/usr/bin',
    '/bin',
  ]
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return folder !== ''
    } catch {
      return false
    }
  })
}

/**
 * Debian's start-up scripts start no service in run level 1, so a freshly installed HAProxy does not run beside ours.
 */
function apt(...words) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1', LC_ALL: 'C' }
  const args = ['-qq', '-o', 'DPkg::Lock::Timeout=300', '-o', 'Dpkg::Use-Pty=0', ...words]
  return run('apt-get', args, { env, stdio: ['ignore', 'pipe', 'pipe'] }, () => 'apt-get is at work, ')
}

async function installPrograms(mode) {
  const first = mode === 'package' ? 0 : 1
  const wanted = MODES.slice(first, MODES.indexOf(mode) + 1).flatMap((name) => Object.entries(PROGRAMS[name]))
  const missing = wanted.filter(([program]) => !isOnPath(program))
  if (missing.length === 0) return
  const programs = missing.map(([program]) => program).join(', ')
  const packages = missing.map(([, name]) => name)
  const command = `apt-get install -y ${packages.join(' ')}`
  if (process.getuid() !== 0 || !isOnPath('apt-get')) {
    say(`not installed: ${programs}. As root: ${command}`)
    return
  }
  await withLock(async () => {
    say(`${command} …`)
    const install = ['install', '-y', '--no-install-recommends', ...packages]
    let result = await apt(...install)
    if (result.status !== 0) {
      say('refreshing the package lists (apt-get update) …')
      await apt('update')
      result = await apt(...install)
    }
    if (result.status !== 0)
      say(`${command} failed (exit ${result.status}): ${result.stderr.trim().split('\n').at(-1)}`)
    else say(`${programs} installed in ${result.seconds} s`)
  })
}

/**
 * Takes about a second after each change of a source, and saves more at each start. The daemon runs without the
 * bundles.
 */
async function putTogether() {
  try {
    const { isPrepared, prepare } = await import('./prepare.mjs')
    if (isPrepared()) return
    await withLock(async () => {
      if (!isPrepared()) await prepare()
    })
  } catch (error) {
    say(`starts will be slower, as the sources could not be put together: ${error.message}`)
  }
}

/** Takes half a second after each change of the page's sources. The API works without the page. */
async function makeAdminPage() {
  try {
    const { isPageMade, makePage } = await import('./page.mjs')
    if (isPageMade()) return
    await withLock(async () => {
      if (!isPageMade()) await makePage()
    })
  } catch (error) {
    say(`the admin page could not be made: ${error.message}`)
  }
}

const mode = process.argv[2]
if (!MODES.includes(mode)) fail(`usage: node .ci/install.mjs ${MODES.join('|')}`)
if (Number(process.versions.node.split('.')[0]) < NODE_MAJOR_MIN)
  fail(`needs Node ${NODE_MAJOR_MIN} or newer, found ${process.version}`)
if (process.platform !== 'linux' || process.arch !== 'x64')
  fail(`runs on x86-64 Linux only, not on ${process.platform} ${process.arch}`)
await installPackages(NEEDS_ALL.has(mode))
await installPrograms(mode)
if (mode !== 'package') {
  await putTogether()
  await makeAdminPage()
}
