import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { haproxyDriver } from '../../../src/drivers/haproxy/driver.ts'
import { checkPlan, executePlan } from '../../../workers/executor.ts'
import { viewOf } from '../../src/drivers/haproxy/records.ts'
import { conforms } from './conformance.ts'
import { haproxyFixture } from './haproxy-fixture.ts'
import { until } from '../../fixtures/until.ts'

t.test('the real machine conforms', async (t) => {
  const { host, driver } = haproxyFixture(t)
  for (const { path, content } of driver.render(viewOf({}))) await host.replaceFile(path, content, 0o600)
  await conforms(t, host)
})

t.test('programs', async (t) => {
  const { host, folder } = haproxyFixture(t)
  t.strictSame(await host.run(['sh', '-c', 'echo out; echo err >&2; exit 3'], 5000), {
    exitCode: 3,
    output: 'out\nerr',
  })
  t.strictSame(await host.run(['sh', '-c', 'echo $0 "$1"', 'a b', '$HOME;'], 5000), {
    exitCode: 0,
    output: 'a b $HOME;',
  })
  t.match(await host.run(['sh', '-c', 'kill -9 $$'], 5000), { exitCode: 128, output: /ended by SIGKILL/ })
  t.match(await host.run(['no-such-program'], 5000), {
    exitCode: 127,
    output: /no-such-program is not installed: run "apt-get install/,
  })
  const { output: environment } = await host.run(['env'], 5000)
  t.match(environment, /^LC_ALL=C\nPATH=/)
  t.notMatch(environment, /^(HOME|USER|SHELL|TERM)=/m, 'nothing of our environment, which may hold secrets')
  const capped = await host.run(['head', '-c', '200000', '/dev/zero'], 5000)
  t.match(capped.output, /\(134464 more bytes\)$/)
  t.notOk(existsSync(join(folder, 'nothing')))
})

t.test('without a free descriptor the program fails, and this process continues', async (t) => {
  const script = `
    const { openSync } = await import('node:fs')
    const { runProgram } = await import('./workers/host/linux-host.ts')
    const { runToEnd } = await import('./workers/detached/program.ts')
    const told = { line: () => undefined, status: () => undefined, output: () => undefined }
    const heard = []
    try { for (;;) heard.push(openSync('/dev/null')) } catch {}
    const ran = await runProgram(['true'], 5000)
    const end = await runToEnd({ argv: ['/bin/true'], timeout_ms: 5000 }, told)
    process._rawDebug(ran.exitCode + ' ' + ran.output + '; ' + end)`
  const argv = ['--nofile=200', process.execPath, '--no-warnings', '--input-type=module', '-e', script]
  const { stderr } = spawnSync('prlimit', argv, {
    encoding: 'utf8',
    cwd: fileURLToPath(new URL('../../..', import.meta.url)),
  })
  t.match(stderr, /^126 spawn \S+ EMFILE; spawn \S+ EMFILE\n$/)
})

t.test('a configuration file that cannot be written is a failure of the file, not of the configuration', async (t) => {
  const { host, folder, paths } = haproxyFixture(t)
  await host.replaceFile(join(folder, 'file'), '', 0o600)
  const nowhere = haproxyDriver({ ...paths, configFile: join(folder, 'file', 'haproxy.cfg') })
  const plan = nowhere.plan(undefined, viewOf({}), { atLeast: 'reload' })
  for (const result of [await executePlan(host, plan), await checkPlan(host, plan)]) {
    t.match(result, {
      ok: false,
      kind: 'replaceFile',
      why: /^write .*haproxy\.cfg\.candidate$/,
      output: /ENOTDIR|EEXIST/,
    })
  }
})

t.test('a deadline ends a program and its children', async (t) => {
  const { host } = haproxyFixture(t)
  // A slow machine may need longer than the first deadlines until the program has printed something.
  let result = { exitCode: 0, output: '' }
  let deadline_ms = 300
  for (; !/^\d/.test(result.output) && deadline_ms < 60_000; deadline_ms *= 3)
    result = await host.run(['sh', '-c', 'sleep 600 & echo $!; wait'], deadline_ms)
  t.match(result, { exitCode: 124, output: /^\d+\nsh did not end within \d+ ms and was killed$/ })
  const child = Number.parseInt(result.output, 10)
  const isGone = () => {
    // A killed child of a killed parent is a zombie until init reaps it; it no longer runs.
    const state = existsSync(`/proc/${child}/stat`) ? /\) (\w)/.exec(readStat(child))?.[1] : undefined
    return state === undefined || state === 'Z'
  }
  await until('the end of the child', isGone)
  t.pass('the child is gone')
})

t.test('files have the requested mode and leave nothing beside them', async (t) => {
  const { host, folder } = haproxyFixture(t)
  await host.replaceFile(join(folder, 'a'), 'x', 0o644)
  await host.replaceFile(join(folder, 'a'), 'y', 0o600)
  t.equal(statSync(join(folder, 'a')).mode & 0o777, 0o600)
  t.strictSame(readdirSync(folder), ['a'])
})

function readStat(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return ''
  }
}
