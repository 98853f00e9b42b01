import t from 'tap'
import { noRoom, noRoomReason } from '../../../src/http/no-room.ts'
import { NoRoomError } from '../../../storage/room.ts'

t.test('a full disk is told from a defect, and what to do about it', async (test) => {
  test.equal(noRoomReason(new NoRoomError('the disk is full')), 'the disk is full')
  test.equal(noRoomReason(Object.assign(new Error('write'), { code: 'ENOSPC' })), 'the disk is full')
  test.equal(noRoomReason(Object.assign(new Error('open'), { code: 'ENOENT' })), undefined)
  test.equal(noRoomReason('ENOSPC'), undefined)
  test.match(noRoom('the disk is full'), /the disk is full: make room/)
})
