/**
 * HAProxy loses its files or is killed on a full disk, under a daemon in the trial profile: it continues, and there is
 * only one.
 */
import { renameSync, rmSync, statfsSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { temporaryFolder } from '../fixtures/folder.ts'
import { Daemon } from '../fixtures/daemon.ts'
import { gone, masterOf, serving } from './serving-daemon.ts'
import { noSmallDisk, smallDisk } from '../fixtures/small-disk.ts'

t.test('a killed HAProxy is restarted on a full disk', { skip: noSmallDisk }, async (test) => {
  const disk = smallDisk(test, 96)
  const { daemon, served } = await serving(test, join(disk, 'state'))
  const { bavail, bsize } = statfsSync(disk)
  const filler = join(disk, 'filler')
  try {
    writeFileSync(filler, new Uint8Array((bavail + 16) * bsize))
  } catch {
    // As much as there was.
  }
  test.throws(() => writeFileSync(join(disk, 'state', 'haproxy', 'more'), 'x'.repeat(4096)), { code: 'ENOSPC' })
  process.kill(await masterOf(daemon), 'SIGKILL')
  await served()
  rmSync(filler)
})

t.test('without its socket, or all of its files, it continues to serve and can be applied', async (test) => {
  const { daemon, ripId, answers, served } = await serving(test)
  const master = await masterOf(daemon)
  const folder = join(daemon.state, 'haproxy')
  for (const lost of ['master.sock', 'haproxy.pid', '']) {
    rmSync(join(folder, lost), { recursive: true })
    await daemon.data('PUT', `/ipvsDirector/rips/${ripId}/drain`)
    const drained = await daemon.call('PUT', '/services/apply')
    test.equal(drained.status, 200, `without ${lost || 'its folder'}: ${drained.text}`)
    test.notOk(await answers(), 'the applied configuration is in force')
    await daemon.data('PUT', `/ipvsDirector/rips/${ripId}/online`)
    await daemon.data('PUT', '/services/apply')
    await served()
    test.equal(await masterOf(daemon), master, 'the same HAProxy, and no other')
  }
})

for (const [way, rename] of [
  ['moved', renameSync],
  ['named by a link', symlinkSync],
] as const)
  t.test(`a state folder that is ${way}: the HAProxy of its old name is replaced, and there is one`, async (test) => {
    const folder = temporaryFolder(test, 'named')
    const { daemon, answers, served } = await serving(test, join(folder, 'state'))
    const before = await masterOf(daemon)
    await daemon.kill('SIGKILL')
    const other = join(folder, 'other')
    rename(daemon.state, other)
    const next = new Daemon(other, ['--no-demo'])
    test.teardown(() => next.end())
    await next.start()
    await gone(before)
    await served()
    test.not(await masterOf(next), before)
    await next.login()
    const [{ id }] = await next.data('GET', '/ipvsDirector/rips')
    await next.data('PUT', `/ipvsDirector/rips/${id}/drain`)
    await next.data('PUT', '/services/apply')
    test.notOk(await answers(), 'the applied configuration is in force')
  })
