import t from 'tap'
import { ApiError } from '../../../src/base/errors.ts'
import { createLog } from '../../../src/base/log.ts'
import { noRoom, noRoomReason, answerRefusal } from '../../../src/http/refusal.ts'
import { noRoom as noRoomInStore, NoRoomError, StoreFailedError } from '../../../storage/room.ts'

t.test('a refusal is answered as it is, a full disk plainly, a defect only in the log', async (test) => {
  const lines: string[] = []
  const log = createLog((line) => lines.push(line))
  const answer = (error: unknown) => JSON.parse(String(answerRefusal(error, 'r-7', log).body))
  test.match(answer(new ApiError('NOT_FOUND', 'none')), { code: 'NOT_FOUND', message: 'none' })
  test.same(lines, [])
  test.match(answer(new NoRoomError('the disk is full')), { code: 'INTERNAL', message: /free space/ })
  test.match(lines.pop(), /"level":"warn".*"reason":"the disk is full"/)
  test.match(answer(new StoreFailedError('the disk failed', 'doing')), {
    code: 'INTERNAL',
    message: /unknown whether/,
  })
  test.match(lines.pop(), /"level":"warn".*"the store has failed"/)
  const defect = answer(new Error('secret detail'))
  test.match(defect, { code: 'INTERNAL', message: /see its log for r-7/ })
  test.notMatch(JSON.stringify(defect), /secret/)
  test.match(lines.pop(), /"level":"error".*secret detail/)
})

t.test('a full disk is distinguished from a defect, with what to do about it', async (test) => {
  test.equal(noRoomReason(new NoRoomError('the disk is full')), 'the disk is full')
  test.equal(noRoomReason(Object.assign(new Error('write'), { code: 'ENOSPC' })), 'the disk is full')
  test.equal(noRoomReason(Object.assign(new Error('write'), { code: 'EROFS' })), 'the disk is read-only')
  test.equal(noRoomReason(Object.assign(new Error('open'), { code: 'ENOENT' })), undefined)
  test.equal(noRoomReason('ENOSPC'), undefined)
  test.match(noRoom('the disk is full'), /the disk is full: free space/)
  test.match(noRoom('the disk is read-only'), /the disk is read-only: repair the disk/)
  test.match(noRoom('its file cannot be written (ENXIO)'), /repair the disk/)
})

t.test('what a limit of the process or the system refuses is no fault of the disk', async (test) => {
  const refused = (code: string) => noRoom(noRoomInStore(Object.assign(new Error('open'), { code })).message)
  test.match(refused('EMFILE'), /too many open files: raise the limit/)
  test.match(refused('ENFILE'), /the system has too many open files: end what holds them, or raise .* fs\.file-max/)
  test.match(refused('EFBIG'), /maximum size: raise the limit/)
  test.match(refused('EDQUOT'), /quota of the disk is used up: free space/)
})
