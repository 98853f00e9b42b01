import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkState } from '../../src/daemon/check.ts'
import { Daemon, notedIn } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { noSmallDisk, smallDisk } from '../fixtures/small-disk.ts'

t.test(
  'on a full disk nothing is changed without an entry, and space can be freed',
  { skip: noSmallDisk },
  async (test) => {
    const disk = smallDisk(test)
    const daemon = new Daemon(join(disk, 'state'), ['--no-demo'])
    test.teardown(() => daemon.end())
    await daemon.start()
    await daemon.login()
    const backup = (await daemon.call('GET', '/backup')).text
    await daemon.data('POST', '/backup/upload', { backup })
    const { bavail, bsize } = statfsSync(disk)
    const filler = join(disk, 'filler')
    const body = (n: number) => ({ name: `web ${n}`, ip: '192.0.2.1', port: 80 })
    const done = new Set<string>()
    try {
      writeFileSync(filler, new Uint8Array(bavail * bsize))
    } catch {
      // As much as there was.
    }
    let refusals = 0
    for (let n = 0; n < 3000 && refusals < 3; n++) {
      const answer = await daemon.call('POST', '/ipvsDirector/rips', { body: body(n) })
      if (answer.status === 201) done.add(answer.headers['x-request-id'] ?? '')
      else {
        refusals++
        test.match(answer.json, { code: 'INTERNAL', message: /disk is full.*free space/ })
      }
    }
    test.equal(refusals, 3)
    test.equal((await daemon.call('DELETE', '/backup/uploads')).status, 200, 'space can be freed')
    rmSync(filler)
    const after = await until(
      'there is room again',
      () => daemon.call('POST', '/ipvsDirector/rips', { body: body(9999) }),
      ({ status }) => status === 201,
    )
    done.add(after.headers['x-request-id'] ?? '')
    const noted = await notedIn(daemon)
    test.same(
      [...done].filter((id) => !noted.has(id)),
      [],
      'no entry was lost',
    )
    test.notMatch(daemon.stderr, /"defect"/)
    await daemon.kill('SIGTERM')
    test.same(await checkState(daemon.state), [])
  },
)
