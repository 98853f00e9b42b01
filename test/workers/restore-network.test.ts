import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { temporaryFolder } from '../fixtures/folder.ts'

const PROGRAM = fileURLToPath(new URL('../../workers/restore-network.ts', import.meta.url))

const run = (...args: readonly string[]) =>
  spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', PROGRAM, ...args], {
    encoding: 'utf8',
    env: {},
  })

t.test('without anything to restore the program does nothing and says so', async (test) => {
  const { status, stdout, stderr } = run(temporaryFolder(test, 'restore'))
  test.same([status, stdout, stderr], [0, '', ''])
})

t.test('without a state folder it prints its usage', async (test) => {
  const { status, stderr } = run()
  test.equal(status, 2)
  test.match(stderr, /^usage: restore-network.ts STATE-FOLDER$/m)
})

t.test("the unit starts this program with the daemon's interpreter, before all listening programs", async (test) => {
  const unit = (name: string) =>
    readFileSync(new URL(`../../systemd/${name}`, import.meta.url), 'utf8').replaceAll('\\\n', '')
  const network = unit('fulcrum-network.service')
  const interpreter = /^ExecStart=\S+ (\S+\/node) /m.exec(unit('fulcrum.service'))?.[1] ?? ''
  const started = /^ExecStart=(.*)$/m.exec(network)?.[1]?.split(/\s+/) ?? []
  test.same(started, [
    interpreter,
    '--disable-warning=ExperimentalWarning',
    '--import',
    './src/code-cache.mjs',
    'workers/restore-network.ts',
    '${FULCRUM_STATE}',
  ])
  const before = /^Before=(.*)$/m.exec(network)?.[1]?.split(' ') ?? []
  for (const name of ['network-online.target', 'haproxy.service', 'keepalived.service', 'fulcrum.service']) {
    test.ok(before.includes(name), name)
  }
})
