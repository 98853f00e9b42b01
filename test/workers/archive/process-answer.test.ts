import t from 'tap'
import { intakeOf, readAnswer, versionNumber } from '../../../workers/archive/process-answer.ts'
import { STATS } from './socket-fixture.ts'

const read = (text: string) => readAnswer(new Uint8Array(Buffer.from(text)))
const info = (more: string) => `Version: 2.6.12-1\nPid: 7\nUptime_sec: 9\nCumConns: 5\n${more}\n\n${STATS}`

t.test('the answering process, and whether it has anything left to count', async (t) => {
  t.match(read(info('CurrConns: 0\nStopping: 1')), { pid: 7, uptime_s: 9, version: 206, isDone: true })
  t.match(read(info('CurrConns: 1\nStopping: 1')), { isDone: false }, 'it has a connection')
  t.match(read(info('CurrConns: 0\nStopping: 0')), { isDone: false }, 'it accepts connections')
  t.match(read(info('CurrConns: 0')), { isDone: true }, 'a version that does not report it')
  t.equal(read(STATS), undefined, 'none')
  t.equal(read('Pid: 7\n\n'), undefined, 'no statistics')
})

t.test("versions that may begin with another process's counters", async (t) => {
  t.equal(versionNumber('3.0.11-1'), 300)
  t.equal(versionNumber(undefined), 0)
  t.equal(intakeOf(206, 5), undefined)
  t.same(intakeOf(300, 5), { accepted: 5, mayShare: false })
  t.same(intakeOf(303, 5), { accepted: 5, mayShare: true })
})
