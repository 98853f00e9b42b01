import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { etcdFile } from '../../../src/drivers/etcd-file.ts'
import { LinuxHost } from '../../../workers/host/linux-host.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

/** A program in place of etcd, which the system tests of clusters run. If it is not new, it has a log already. */
function fixture(test: Test, script: string, { isNew = false } = {}) {
  const folder = join(temporaryFolder(test, 'state'), 'cluster')
  mkdirSync(isNew ? folder : join(folder, 'etcd/member/wal'), { recursive: true })
  const program = join(folder, 'program')
  writeFileSync(program, `#!/bin/sh\n${script}\n`)
  chmodSync(program, 0o755)
  const host = new LinuxHost({ layer7proxy: { mode: 'systemd', masterSocket: '' }, etcd: { program, folder } }, folder)
  test.teardown(() => host.unit('etcd', 'stop', 5_000))
  const perform = (verb: 'start' | 'stop' | 'restart') => host.unit('etcd', verb, 5_000)
  const withArguments = () => writeFileSync(join(folder, 'etcd.env'), etcdFile([`--data-dir=${folder}/etcd`, '--b=c']))
  return { folder, host, perform, withArguments }
}

t.test('it is started with its arguments, once, and stopped', async (t) => {
  const { folder, host, perform, withArguments } = fixture(t, 'echo "$@" >> "$0.said"; while :; do sleep 1; done')
  t.match(await perform('start'), { exitCode: 1, output: /not in a cluster/ })
  t.equal(await host.unitState('etcd'), 'stopped')
  withArguments()
  t.same(await perform('start'), { exitCode: 0, output: '' })
  t.same(await perform('start'), { exitCode: 0, output: '' })
  t.equal(await host.unitState('etcd'), 'running')
  t.equal(readFileSync(join(folder, 'program.said'), 'utf8'), `--data-dir=${folder}/etcd --b=c\n`)
  t.same(await perform('restart'), { exitCode: 0, output: '' })
  t.equal(readFileSync(join(folder, 'program.said'), 'utf8').split('\n').length, 3)
  t.same(await perform('stop'), { exitCode: 0, output: '' })
  t.equal(await host.unitState('etcd'), 'stopped')
})

t.test('it collects its memory as in its unit', async (t) => {
  const { folder, perform, withArguments } = fixture(t, 'echo "GOGC=$GOGC" > "$0.said"; while :; do sleep 1; done')
  withArguments()
  await perform('start')
  const said = readFileSync(join(folder, 'program.said'), 'utf8').trim()
  const unit = readFileSync(new URL('../../../systemd/fulcrum-etcd.service', import.meta.url), 'utf8')
  t.match(unit, `\nEnvironment=${said}\n`)
})

t.test('a failed start has its reason', async (t) => {
  const { perform, withArguments } = fixture(t, 'echo "the port is taken" >&2; exit 3')
  withArguments()
  t.match(await perform('start'), { exitCode: 1, output: /exit code 3[^]*the port is taken/ })
})

t.test('a new member that ends after others have settled has its reason as well', async (t) => {
  const { perform, withArguments } = fixture(t, 'sleep 0.6; echo "the disk is full" >&2; exit 2', { isNew: true })
  withArguments()
  t.match(await perform('start'), { exitCode: 1, output: /exit code 2[^]*the disk is full/ })
})

t.test('a new member runs when its log exists', async (t) => {
  const script = 'mkdir -p "${0%/*}/etcd/member/wal"; while :; do sleep 1; done'
  const { perform, withArguments } = fixture(t, script, { isNew: true })
  withArguments()
  t.same(await perform('start'), { exitCode: 0, output: '' })
})

t.test("of etcd's log that is the last error, without its trace", async (t) => {
  const logged = [
    '{"level":"error","msg":"an earlier one","error":"no matter"}',
    '{"level":"panic","msg":"failed to create WAL","error":"no space left on device","stacktrace":"wal.go:1"}',
    '{"level":"info","msg":"closing"}',
    'panic: failed to create WAL',
    'goroutine 1 [running]:',
  ]
  const { perform, withArguments } = fixture(t, `cat <<'END'\n${logged.join('\n')}\nEND\nexit 2`)
  withArguments()
  const output = 'etcd did not start: exit code 2\nfailed to create WAL: no space left on device'
  t.same(await perform('start'), { exitCode: 1, output })
})
