import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { finished } from './debian-tree.ts'
import { BUILDER, buildPackage, KEPT, keptPackage } from './fulcrum-package.ts'
import { textOf } from './packaged-machine.ts'

/** The Debian package: its reproducible build, and its content. */

const PROJECT = fileURLToPath(new URL('../../', import.meta.url))

t.setTimeout(1_800_000)
const folder = mkdtempSync(join(tmpdir(), 'fulcrum-packages-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

const sum = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex')

t.test('the package is the same each time, and holds exactly the files of a running node', async (t) => {
  const file = await keptPackage(folder)
  t.equal(sum(await buildPackage(KEPT, join(folder, 'again'))), sum(file))
  const info = textOf(await finished('dpkg-deb', ['--info', file]))
  t.match(info, /^ Package: fulcrum\n Version: 0\.1\.0~2\n Architecture: amd64\n/m)
  t.match(info, /^ Depends: haproxy \(>= [\d.]+\), iproute2, /m)
  const listing = textOf(await finished('dpkg-deb', ['--contents', file])).split('\n')
  t.strictSame(
    listing.filter((line) => !/^(?:[d-](?:rwxr-xr-x|rw-r--r--)|lrwxrwxrwx) root\/root /.test(line)),
    [],
    'owned by root and writable for root alone',
  )
  const paths = listing.map((line) => line.replace(/^.* \.\//, ''))
  for (const path of [
    'opt/fulcrum/src/main.ts',
    // Units and settings refer to these for details.
    'opt/fulcrum/docs/cluster.md',
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
    'lib/systemd/system/nftables.service.d/fulcrum.conf',
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
    'nothing for other platforms',
  )
  t.match(await finished(process.execPath, [BUILDER, '--version', '../x']), {
    exitCode: 1,
    stderr: /--version \.\.\/x: must be like 1\.2\.3/,
  })
})
