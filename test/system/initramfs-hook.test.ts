import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { finished } from './debian-tree.ts'

const HOOK = fileURLToPath(new URL('../../systemd/initramfs-hook', import.meta.url))
/** Of lvm2 2.03.16-2, which Debian 12 has. */
const OTHER = 'ENV{LVM_VG_NAME_COMPLETE}=="?*", RUN+="/sbin/lvm pvscan --cache"\n'
const rule = (options: string) =>
  `ENV{LVM_VG_NAME_COMPLETE}=="?*", RUN+="/sbin/lvm vgchange -aay ${options}--autoactivation event $env{LVM_VG_NAME_COMPLETE}"\n`

t.test('in the initial file system no program watches the merge of a snapshot', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-initramfs-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const run = (...words: readonly string[]) => finished('env', [`DESTDIR=${folder}`, 'sh', HOOK, ...words])
  t.match(await run('prereqs'), { exitCode: 0, stdout: 'lvm2\n' }, 'after the rules are there')
  t.match(await run(), { exitCode: 0, stdout: '', stderr: '' }, 'without LVM there is nothing to do')
  const rules = join(folder, 'lib/udev/rules.d')
  const file = join(rules, '69-lvm.rules')
  mkdirSync(rules, { recursive: true })
  writeFileSync(file, OTHER + rule(''))
  for (const round of ['changed', 'changed once']) {
    t.match(await run(), { exitCode: 0, stdout: '', stderr: '' })
    t.equal(readFileSync(file, 'utf8'), OTHER + rule('--poll n '), round)
  }
})
