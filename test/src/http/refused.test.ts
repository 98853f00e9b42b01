import t from 'tap'
import { ApiError } from '../../../src/errors.ts'
import { refused } from '../../../src/http/refused.ts'
import { createLog } from '../../../src/log.ts'
import { NoRoomError } from '../../../storage/room.ts'

t.test('a refusal is told as it is, a full disk plainly, a defect only to the log', async (test) => {
  const lines: string[] = []
  const log = createLog((line) => lines.push(line))
  const answer = (error: unknown) => JSON.parse(String(refused(error, 'r-7', log).body))
  test.match(answer(new ApiError('NOT_FOUND', 'none')), { code: 'NOT_FOUND', message: 'none' })
  test.same(lines, [])
  test.match(answer(new NoRoomError('the disk is full')), { code: 'INTERNAL', message: /make room/ })
  test.match(lines.pop(), /"level":"warn".*"reason":"the disk is full"/)
  const defect = answer(new Error('secret detail'))
  test.match(defect, { code: 'INTERNAL', message: /its log explains r-7/ })
  test.notMatch(JSON.stringify(defect), /secret/)
  test.match(lines.pop(), /"level":"error".*secret detail/)
})
