import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { bootIdHere, isAlive, machineMark, ownMark } from '../../../src/base/process-mark.ts'

t.test('a process is alive while it is exactly this one', async (test) => {
  const mark = ownMark(bootIdHere())
  test.ok(isAlive(mark))
  test.notOk(isAlive({ ...mark, startedAt: '1' }), 'the id was reused by another process')
  test.notOk(isAlive({ ...mark, bootId: 'before' }), 'the machine was restarted')
  const child = spawn('sleep', ['60'])
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
  test.notOk(isAlive({ ...mark, pid: child.pid ?? 0 }))
})

t.test('the machine is the same as long as its first process is', async (test) => {
  test.ok(isAlive(machineMark()))
  test.notOk(isAlive({ ...machineMark(), startedAt: '1' }))
})
