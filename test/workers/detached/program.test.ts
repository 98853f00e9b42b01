import t from 'tap'
import type { ProgramStep } from '../../../workers/detached/plan.ts'
import { runToEnd } from '../../../workers/detached/program.ts'

function run(argv: readonly string[], more: Partial<ProgramStep> = {}) {
  const told = { lines: [] as string[], status: [] as string[], output: '' }
  const ended = runToEnd(
    { kind: 'program', why: 'try', weight: 1, argv, timeout_ms: 10_000, ...more },
    {
      line: (text) => void told.lines.push(text),
      status: (text) => void told.status.push(text),
      output: (text) => (told.output = text),
    },
  )
  return { told, ended }
}
const shell = (script: string, more?: Partial<ProgramStep>) => run(['sh', '-c', script], more)

t.test('lines of the output, and of descriptor 3', async (test) => {
  const { told, ended } = shell(
    String.raw`printf 'one\ntwo\rthree'; echo err >&2; echo pmstatus:a:1:b >&3; read x && exit 9; exit 0`,
  )
  test.equal(await ended, undefined, 'and nothing to read on the standard input')
  test.same(told.lines.toSorted(), ['err', 'one', 'three', 'two'])
  test.same(told.status, ['pmstatus:a:1:b'])
})

t.test('a failure reports how the program ended', async (test) => {
  test.equal(await shell('exit 100').ended, 'sh ended with exit code 100')
  test.equal(await shell('kill -9 $$').ended, 'sh was ended by SIGKILL')
  test.match(await run(['no-such-program']).ended, /ENOENT/)
  test.match(await shell('exec sleep 60', { timeout_ms: 50 }).ended, /did not end within 0.05 s/)
})

t.test('output that is wanted as a whole is not a line of the log', async (test) => {
  const { told, ended } = shell(String.raw`printf 'a\nb\n'`, { output: 'before' })
  await ended
  test.same(told, { lines: [], status: [], output: 'a\nb\n' })
})

t.test('it does not wait for a service that keeps the output open', async (test) => {
  const { told, ended } = shell('sleep 5 & echo done')
  test.equal(await ended, undefined)
  test.same(told.lines, ['done'])
})
