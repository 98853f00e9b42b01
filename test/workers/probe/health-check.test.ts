import { existsSync, readdirSync } from 'node:fs'
import t from 'tap'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { runProgram } from '../../../workers/host/linux-host.ts'
import { runHealthCheck, runScript } from '../../../workers/probe/health-check.ts'
import { sandboxProblem } from '../../fixtures/sandbox.ts'

const trial = (script: string, flags: readonly string[] = []) => ({ script, ip: '192.0.2.7', port: 8080, flags })
const skip = sandboxProblem()

t.test('the arguments of a check, its output, and nothing is left', { skip }, async (test) => {
  const folder = temporaryFolder(test, 'trials')
  const script = '#!/bin/sh\nprintf "%s\\n" "$@" >&2\nexit 3\n'
  const flags = ["--a=it's $HOME `id` %n", '--b=']
  const tried = await runHealthCheck(trial(script, flags), folder, runProgram)
  test.match(tried, { exitCode: 3, up: false, output: ['0.0.0.0', '0', '192.0.2.7', '8080', ...flags].join('\n') })
  test.type(tried.durationMs, 'number')
  test.strictSame(readdirSync(folder), [])
  const ipv6 = { ...trial('#!/bin/sh\necho "$1 $3"\n'), ip: '2001:db8::1' }
  test.match(await runHealthCheck(ipv6, folder, runProgram), { exitCode: 0, up: true, output: ':: 2001:db8::1' })
})

t.test('output is limited, without control characters, and its length changes no verdict', { skip }, async (test) => {
  const folder = temporaryFolder(test, 'trials')
  const flood = '#!/bin/sh\nprintf "\\033[31m\\007a\\tb\\000\\n"\nhead -c 3000000 /dev/zero | tr "\\0" x\nexit 0\n'
  const { output, up } = await runHealthCheck(trial(flood), folder, runProgram)
  test.equal(up, true)
  test.match(output, /^\[31ma\tb\nx+$/)
  test.ok(output.length <= 16 * 1024, String(output.length))
})

t.test('a run that is impossible leaves nothing', async (test) => {
  const folder = temporaryFolder(test, 'trials')
  const failing = () => Promise.reject(new Error('no'))
  await test.rejects(runHealthCheck(trial('#!/bin/sh\n'), folder, failing), /no/)
  test.strictSame(readdirSync(folder), [])
  test.ok(existsSync(folder))
})

t.test('a script reads files that no other user can, and is killed in time', { skip }, async (test) => {
  const folder = temporaryFolder(test, 'trials')
  // The pattern does not match the process that searches for it.
  const script =
    '#!/bin/sh\nread -r line\necho "$1 $2 $line"\ncat /proc/*/cmdline 2>/dev/null | grep -c g[e]heim\nexit 7\n'
  const called = { script, words: ['present', "it's"], input: 'token=geheim\n', seconds: 5 }
  const { exitCode, output } = await runScript(called, folder, runProgram)
  test.equal(exitCode, 7)
  test.equal(output.trim(), "present it's token=geheim\n0")
  const hangs = { ...called, script: '#!/bin/sh\nsleep 60 &\nwait\n', seconds: 1 }
  test.match(await runScript(hangs, folder, runProgram), { exitCode: 137, output: /more than 1 s and was killed/ })
  test.strictSame(readdirSync(folder), [])
})
