import { spawn } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Director, keepalivedRuns } from '../../../src/ipvs/director.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { untilHolds } from '../../fixtures/until.ts'

t.test('keepalived runs while the process of its file does, under its name', async (test) => {
  const folder = temporaryFolder(test, 'director')
  const file = join(folder, 'keepalived.pid')
  test.equal(keepalivedRuns(file), false, 'it was never started')
  writeFileSync(file, `${process.pid}\n`)
  test.equal(keepalivedRuns(file), false, 'another process now has its id')
  // A process is named after its program.
  const program = join(folder, 'keepalived')
  copyFileSync('/bin/sleep', program)
  const child = spawn(program, ['60'])
  test.teardown(() => void child.kill('SIGKILL'))
  await new Promise((resolve) => child.once('spawn', resolve))
  writeFileSync(file, `${child.pid}\n`)
  test.equal(keepalivedRuns(file), true)
  child.kill('SIGSTOP')
  await untilHolds(() => readFileSync(`/proc/${child.pid}/stat`, 'utf8').includes(') T '))
  test.equal(keepalivedRuns(file), false, 'a stopped one checks no server')
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
  test.equal(keepalivedRuns(file), false, 'it was killed, and its file still exists')
})

t.test('a restart between two looks is not reported; its absence and its return are, once', async (test) => {
  let runs = true
  const told: boolean[] = []
  const director = new Director(
    () => runs,
    (up) => void told.push(up),
  )
  const look = (...each: readonly boolean[]) => each.map((now) => ((runs = now), director.look()))
  test.strictSame(look(true, false, true), [true, false, true])
  test.strictSame(told, [])
  look(false, false, false)
  test.strictSame(told, [false])
  look(true, true)
  test.strictSame(told, [false, true])
  look(false)
  director.rest()
  look(false)
  test.strictSame(told, [false, true], 'it was not missed meanwhile')
})
