import { statfsSync } from 'node:fs'
import t from 'tap'
import { leavesRoom } from '../../../src/base/spare-room.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('a file may not take the reserve of the disk', async (test) => {
  const folder = temporaryFolder(test, 'spare')
  const { bavail, bsize } = statfsSync(folder)
  test.equal(await leavesRoom(folder, 2 ** 60), false)
  test.equal(await leavesRoom(folder, bavail * bsize), false, 'not even when it just fits')
  test.equal(await leavesRoom(folder, -(2 ** 60)), true)
})
