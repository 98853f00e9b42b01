/** A daemon on a disk that is full and stays full, whatever it frees: users log in, free space, and it starts. */
import { statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkState } from '../../src/daemon/check.ts'
import { Daemon } from '../fixtures/daemon.ts'
import { noSmallDisk, smallDisk } from '../fixtures/small-disk.ts'

let fillers = 0

/** Takes the remaining space, to the last block, repeatedly. */
function fill(disk: string): void {
  const { bavail, bsize } = statfsSync(disk)
  if (bavail === 0) return
  try {
    writeFileSync(join(disk, `filler-${fillers++}`), new Uint8Array(bavail * bsize))
  } catch {
    // As much as there was.
  }
}

t.test(
  'users log in and free space, records can be deleted, and it starts',
  { skip: noSmallDisk, timeout: 1_800_000 },
  async (test) => {
    const disk = smallDisk(test)
    const daemon = new Daemon(join(disk, 'state'), ['--no-demo'])
    test.teardown(() => daemon.end())
    await daemon.start()
    await daemon.login()
    const { id } = await daemon.data('POST', '/ipvsDirector/rips', { name: 'goes', ip: '192.0.2.1', port: 80 })
    await daemon.data('PUT', '/services/apply')
    await daemon.data('POST', '/backup/upload', { backup: (await daemon.call('GET', '/backup')).text })
    fill(disk)
    // Until nothing is accepted any more, so that every reserve has been used.
    let refused = 0
    const description = 'd'.repeat(20_000)
    for (let n = 0; n < 400 && refused < 5; n++) {
      fill(disk)
      const script = `#!/bin/sh\n# ${description}\n`
      const answer = await daemon.call('POST', '/healthchecks', {
        body: { name: `check ${n}`, description: 'large', services: ['layer-7'], script },
      })
      if (answer.status === 201) continue
      refused += 1
      test.match(answer.json, { code: 'INTERNAL', message: /disk is full.*free space/ }, answer.text)
    }
    test.equal(refused, 5, 'edits that need space are refused with the reason')
    fill(disk)
    for (let n = 0; n < 20; n++) {
      fill(disk)
      const token = await daemon.login()
      test.equal((await daemon.call('GET', '/localUsers/me')).status, 200, 'a login succeeds')
      if (n % 2 === 0) test.equal((await daemon.call('DELETE', '/token', { token })).status, 200, 'and a logout')
    }
    await daemon.login()
    fill(disk)
    test.equal((await daemon.call('DELETE', `/ipvsDirector/rips/${id}`)).status, 200, 'a record can be deleted')
    const discarded = await daemon.call('DELETE', '/services/pending')
    test.equal(discarded.status, 200, discarded.text)
    await daemon.kill('SIGKILL')
    fill(disk)
    await daemon.start()
    await daemon.login()
    test.equal((await daemon.call('GET', `/ipvsDirector/rips/${id}`)).status, 200)
    fill(disk)
    test.equal((await daemon.call('DELETE', '/backup/uploads')).status, 200, 'space can be freed')
    test.notMatch(daemon.stderr, /"defect"/)
    await daemon.kill('SIGTERM')
    test.same(await checkState(daemon.state), [])
  },
)
