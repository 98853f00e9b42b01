import { mkdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Run } from '../../../../workers/host/managed-program.ts'
import { readTimezone, writeTimezone, type ZoneFiles, zoneOfLink } from '../../../../workers/host/settings/timezone.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'

const nobody: Run = async (argv) => {
  throw new Error(`${argv.join(' ')} is not to be run`)
}

function files(test: Test): ZoneFiles {
  const folder = temporaryFolder(test, 'zone')
  const zones = join(folder, 'usr/share/zoneinfo')
  for (const zone of ['Europe/Paris', 'Etc/UTC']) {
    mkdirSync(join(zones, zone.split('/')[0] ?? ''), { recursive: true })
    writeFileSync(join(zones, zone), 'TZif')
  }
  return { localtime: join(folder, 'localtime'), name: join(folder, 'timezone'), zones }
}

t.test('the zone is the target of the link', async (test) => {
  for (const [target, zone] of [
    ['/usr/share/zoneinfo/Europe/Paris', 'Europe/Paris'],
    ['../usr/share/zoneinfo/America/Argentina/Salta', 'America/Argentina/Salta'],
    ['/usr/share/zoneinfo/posix/Etc/GMT+5', 'Etc/GMT+5'],
    ['/usr/share/zoneinfo/UTC', 'UTC'],
    ['/etc/my-own-zone', undefined],
    ['/usr/share/zoneinfo/../../etc/passwd', undefined],
  ] as const) {
    test.equal(zoneOfLink(target), zone, target)
  }
})

t.test('without a link, Debian’s file has it; without either it is UTC', async (test) => {
  const found = files(test)
  test.equal(await readTimezone(found), 'Etc/UTC')
  writeFileSync(found.name, 'Asia/Tokyo\n')
  test.equal(await readTimezone(found), 'Asia/Tokyo')
  writeFileSync(found.localtime, 'TZif')
  test.equal(await readTimezone(found), 'Asia/Tokyo', 'a copy does not name it')
  writeFileSync(found.name, 'what ever\n')
  test.equal(await readTimezone(found), undefined)
  const linked = files(test)
  symlinkSync('/usr/share/zoneinfo/Europe/Paris', linked.localtime)
  test.equal(await readTimezone(linked), 'Europe/Paris')
})

t.test('where no service manager sets it, the link is replaced', async (test) => {
  const made = files(test)
  for (const zone of ['Europe/Paris', 'Etc/UTC', 'Europe/Paris']) {
    test.same(await writeTimezone(zone, nobody, 1000, made), { exitCode: 0, output: '' })
    test.equal(await readTimezone(made), zone)
  }
  test.equal(readlinkSync(made.localtime), join(made.zones, 'Europe/Paris'))
  for (const zone of ['Europe/Nowhere', '../../../etc/passwd', '', 'a b']) {
    test.not((await writeTimezone(zone, nobody, 1000, made)).exitCode, 0, zone)
    test.equal(await readTimezone(made), 'Europe/Paris')
  }
})
