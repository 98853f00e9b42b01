import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { openBinaryEnvironment } from '../../../storage/env.ts'
import { bareStart } from '../../../workers/host/bare-start.ts'
import { runProgram } from '../../../workers/host/linux-host.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

/** `ls` opens the folder that it lists, at the first free descriptor. */
const LIST = ['ls', '-l', '/proc/self/fd']
const above2 = (output: string) =>
  output
    .split('\n')
    .filter((line) => / (\d+) -> /.test(line) && Number(/ (\d+) -> /.exec(line)?.[1]) > 2)
    .filter((line) => !/\/proc\/\d+\/fd$/.test(line))

t.test('a program starts with its standard descriptors and no others', async (t) => {
  const directory = join(temporaryFolder(t, 'lmdb'), 'store')
  const environment = openBinaryEnvironment({ directory, databases_max: 4, map_bytes: 2 ** 20 })
  t.teardown(() => environment.close())
  const direct = spawnSync('ls', ['-l', '/proc/self/fd'], { encoding: 'utf8' })
  t.ok(
    above2(direct.stdout).some((line) => line.includes(directory)),
    "programs started otherwise inherit LMDB's descriptors",
  )
  const { output, exitCode } = await runProgram(LIST, 10_000)
  t.equal(exitCode, 0, output)
  t.strictSame(above2(output), [])
})

t.test('a program that cannot be started has a reason, and words that look like options stay words', async (t) => {
  const start = (program: string, args: readonly string[]) => {
    const [first, others] = bareStart(program, args)
    return spawnSync(first, others, { encoding: 'utf8' })
  }
  t.match(start('/nowhere/program', []), { status: 126, stderr: '/nowhere/program: No such file or directory\n' })
  t.match(start('/bin/echo', ['-e', '--', '-w', 'a b']), { status: 0, stdout: '-- -w a b\n' })
  t.end()
})
