// `npm run package [-- --output DIR --version V --level N]`: builds fulcrum_V_amd64.deb, the same bytes for the same
// commit.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { makeClient } from '../../.ci/client.mjs'
import { makePage } from '../../.ci/page.mjs'
import { prepare } from '../../.ci/prepare.mjs'
import { copyProductionTree } from './production-tree.mjs'
import { sbom } from './sbom.mjs'

const HERE = dirname(fileURLToPath(import.meta.url))
const ROOT = join(HERE, '../..')
const SCRIPTS = ['preinst', 'postinst', 'prerm', 'postrm']
const EXECUTABLE =
  /^(opt\/fulcrum\/systemd\/(fulcrum|notify-exec|initramfs-hook)|usr\/(bin|share\/initramfs-tools\/hooks)\/fulcrum|.*\/bin\/node|DEBIAN\/(pre|post)(inst|rm))$/
const COLLECTIONS = 'usr/share/ansible/collections/ansible_collections/fulcrum'
/** The form of a Debian package version, without an epoch. */
const VERSION = /^\d[A-Za-z0-9.+~-]*$/

const OPTIONS = {
  output: { type: 'string', default: join(ROOT, '.cache') },
  version: { type: 'string' },
  level: { type: 'string', default: '19' },
}

const here = (name) => readFileSync(join(HERE, name), 'utf8')

/** Returns the time of the last commit, so that builds are reproducible. */
function buildTime_s() {
  const given = process.env.SOURCE_DATE_EPOCH
  return Number(given ?? execFileSync('git', ['-C', ROOT, 'log', '-1', '--format=%ct'], { encoding: 'utf8' }))
}

function walk(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? [...walk(path), path] : [path]
  })
}

/** Writes all files that the package installs below `tree`. */
async function fill(tree, version, time_s) {
  const opt = join(tree, 'opt/fulcrum')
  const packages = copyProductionTree(ROOT, opt)
  await prepare(opt, { isSealed: true })
  await makePage(opt, { isSealed: true, level: 11 })
  const manifest = JSON.parse(readFileSync(join(opt, 'package.json'), 'utf8'))
  writeFileSync(join(opt, 'package.json'), `${JSON.stringify({ ...manifest, version }, null, 2)}\n`)
  const place = (from, to) => {
    mkdirSync(join(tree, dirname(to)), { recursive: true })
    cpSync(from, join(tree, to))
  }
  for (const unit of ['fulcrum.service', 'fulcrum-network.service', 'fulcrum-etcd.service', 'fulcrum-vrrp.service'])
    place(join(ROOT, 'systemd', unit), `lib/systemd/system/${unit}`)
  for (const dropIn of ['etcd', 'keepalived', 'nftables', 'snmpd'].map((name) => `${name}.service.d/fulcrum.conf`))
    place(join(ROOT, 'systemd', dropIn), `lib/systemd/system/${dropIn}`)
  place(join(ROOT, 'systemd/fulcrum.tmpfiles'), 'usr/lib/tmpfiles.d/fulcrum.conf')
  place(join(ROOT, 'systemd/initramfs-hook'), 'usr/share/initramfs-tools/hooks/fulcrum')
  place(join(HERE, 'fulcrum.default'), 'etc/default/fulcrum')
  place(join(HERE, 'major-versions.json'), 'usr/share/fulcrum/major-versions.json')
  mkdirSync(join(tree, 'usr/bin'), { recursive: true })
  symlinkSync('../../opt/fulcrum/systemd/fulcrum', join(tree, 'usr/bin/fulcrum'))
  // ansible-core looks for collections there.
  mkdirSync(join(tree, COLLECTIONS), { recursive: true })
  symlinkSync(relative(join('/', COLLECTIONS), '/opt/fulcrum/systemd/ansible'), join(tree, COLLECTIONS, 'fulcrum'))
  place(join(ROOT, 'docs/FULCRUM-MIB.txt'), 'usr/share/snmp/mibs/FULCRUM-MIB.txt')
  const bundled = makeClient(join(tree, 'usr/share/fulcrum/client'), version)
  const documents = join(tree, 'usr/share/doc/fulcrum')
  mkdirSync(documents, { recursive: true })
  writeFileSync(join(documents, 'copyright'), copyright(packages, bundled))
  writeFileSync(join(documents, 'sbom.cdx.json'), sbom({ version, time_s, shipped: [...packages, ...bundled] }))
  writeFileSync(join(documents, 'changelog.gz'), gzipSync(changelog(version, time_s), { level: 9 }))
}

function copyright(packages, ofClient) {
  const lines = (list) => list.map(({ name, version, license }) => `  ${name} ${version}: ${license}`).join('\n')
  return `Fulcrum
License: Apache-2.0, see /usr/share/common-licenses/Apache-2.0.

Below /opt/fulcrum/node_modules, each with its licence in its folder:
${lines(packages)}

Below /usr/share/fulcrum/client/node_modules:
${lines(ofClient)}
`
}

function changelog(version, time_s) {
  const date = new Date(time_s * 1000).toUTCString().replace('GMT', '+0000')
  return `fulcrum (${version}) stable; urgency=medium\n\n  * See /opt/fulcrum/CHANGELOG.md.\n\n -- Fulcrum <fulcrum@localhost>  ${date}\n`
}

/** Counts as dpkg does: the size of a folder differs between file systems. */
const kibOf = (stat) => (stat.isFile() ? Math.ceil(stat.size / 1024) : 1)

function describe(tree, version) {
  const folder = join(tree, 'DEBIAN')
  const kib = walk(tree).reduce((sum, path) => sum + kibOf(lstatSync(path)), 0)
  mkdirSync(folder)
  const control = here('control').replace('@VERSION@', version)
  writeFileSync(join(folder, 'control'), control.replace('@KIB@', String(kib)))
  writeFileSync(join(folder, 'conffiles'), '/etc/default/fulcrum\n')
  // The hook takes effect when the initramfs is rebuilt; without initramfs-tools the trigger does nothing.
  writeFileSync(join(folder, 'triggers'), 'activate-noawait update-initramfs\n')
  for (const name of SCRIPTS) writeFileSync(join(folder, name), here(name))
}

/** Sets modes and times, so that the package does not depend on who built it, and when. */
function settle(tree, time_s) {
  for (const path of [...walk(tree), tree]) {
    const isProgram = statSync(path).isDirectory() || EXECUTABLE.test(relative(tree, path))
    chmodSync(path, isProgram ? 0o755 : 0o644)
    lutimesSync(path, time_s, time_s)
  }
}

async function build({
  output,
  version = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version,
  level,
}) {
  if (!VERSION.test(version)) throw new Error(`--version ${version}: must be like 1.2.3`)
  const time_s = buildTime_s()
  const tree = mkdtempSync(join(tmpdir(), 'fulcrum-package-'))
  try {
    await fill(tree, version, time_s)
    describe(tree, version)
    settle(tree, time_s)
    mkdirSync(output, { recursive: true })
    const target = resolve(output, `fulcrum_${version}_amd64.deb`)
    const words = ['--root-owner-group', '-Zzstd', `-z${level}`, '--build', tree, target]
    const env = { ...process.env, SOURCE_DATE_EPOCH: String(time_s) }
    execFileSync('dpkg-deb', words, { env, stdio: ['ignore', 'ignore', 'inherit'] })
    const mib = (bytes) => `${(bytes / 1024 ** 2).toFixed(0)} MiB`
    const installed = walk(tree).reduce((sum, path) => sum + statSync(path).size, 0)
    console.log(`${target}: ${mib(statSync(target).size)}, installed ${mib(installed)}`)
  } finally {
    rmSync(tree, { recursive: true, force: true })
  }
}

try {
  await build(parseArgs({ options: OPTIONS, strict: true }).values)
} catch (error) {
  console.error(`package: ${error.message}`)
  process.exitCode = 1
}
