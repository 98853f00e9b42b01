import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { changeAccount, hasLoginShell } from '../../../workers/host/accounts.ts'
import type { RunOptions } from '../../../workers/host/managed-program.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const ROOT = 'root:x:0:0:root:/root:/bin/bash\n'
const CONSOLE = 'console:x:997:997::/var/lib/fulcrum-console:'
const OFF = `${ROOT}${CONSOLE}/usr/sbin/nologin\n`
const ON = `${ROOT}${CONSOLE}/bin/bash\n`
const secret = 'Gehe1m!:x'

interface Call {
  readonly argv: readonly string[]
  readonly options: RunOptions | undefined
}

function fixture(test: Test, passwd: string, failing = '') {
  const file = join(temporaryFolder(test, 'accounts'), 'passwd')
  writeFileSync(file, passwd)
  const calls: Call[] = []
  const run = async (argv: readonly string[], _timeout_ms: number, options?: RunOptions) => {
    calls.push({ argv, options })
    return argv[0] === failing ? { exitCode: 1, output: `refused: ${options?.input}` } : { exitCode: 0, output: '' }
  }
  return { file, calls, run, programs: () => calls.map(({ argv }) => argv[0]) }
}

t.test('on: the account is created, gets its password and then its shell', async (t) => {
  const { file, calls, run, programs } = fixture(t, ROOT)
  const change = { account: 'console', shell: true, password: { secret } } as const
  t.match(await changeAccount(change, run, 1000, file), { exitCode: 0 })
  t.strictSame(programs(), ['useradd', 'chpasswd', 'usermod'])
  t.strictSame(calls[2]?.argv, ['usermod', '--shell', '/bin/bash', 'console'])
  t.ok(calls[0]?.argv.includes('/usr/sbin/nologin'), 'no login is possible before there is a password')
})

t.test('an existing account is kept', async (t) => {
  const { file, run, programs } = fixture(t, OFF)
  await changeAccount({ account: 'console', shell: true, password: { secret } }, run, 1000, file)
  t.strictSame(programs(), ['chpasswd', 'usermod'])
})

t.test('off: the password is replaced first, then sessions end, then the shell', async (t) => {
  const { file, calls, run, programs } = fixture(t, ON)
  await changeAccount({ account: 'console', shell: false, password: 'random' }, run, 1000, file)
  t.strictSame(programs(), ['chpasswd', 'loginctl', 'pkill', 'usermod', 'loginctl', 'pkill'])
  t.strictSame(calls[3]?.argv, ['usermod', '--shell', '/usr/sbin/nologin', 'console'])
  const [, password = ''] = /^console:(.*)\n$/.exec(calls[0]?.options?.input ?? '') ?? []
  t.equal(Buffer.from(password, 'base64').length, 48, '48 random bytes')
})

t.test('access that cannot be disabled completely is still on, so that the next try does all of it', async (t) => {
  const { file, run, programs } = fixture(t, ON, 'chpasswd')
  const result = await changeAccount({ account: 'console', shell: false, password: 'random' }, run, 1000, file)
  t.equal(result.exitCode, 1)
  t.notOk(programs().includes('usermod'), 'the password would stay, and access seem to be off')
})

t.test('off: another time, another password', async (t) => {
  const { file, calls, run } = fixture(t, ON)
  for (let round = 0; round < 2; round += 1) {
    await changeAccount({ account: 'console', shell: false, password: 'random' }, run, 1000, file)
  }
  const inputs = calls.filter(({ argv }) => argv[0] === 'chpasswd').map(({ options }) => options?.input)
  t.equal(new Set(inputs).size, 2)
})

t.test('off without an account creates none', async (t) => {
  const { file, calls, run } = fixture(t, ROOT)
  t.match(await changeAccount({ account: 'console', shell: false, password: 'random' }, run, 1000, file), {
    exitCode: 0,
  })
  t.strictSame(calls, [])
})

t.test('a password alone only changes the password', async (t) => {
  const { file, run, programs } = fixture(t, ON)
  await changeAccount({ account: 'console', shell: undefined, password: { secret } }, run, 1000, file)
  t.strictSame(programs(), ['chpasswd'])
})

t.test('the password is passed on standard input only, outside the confinement', async (t) => {
  const { file, calls, run } = fixture(t, ROOT)
  await changeAccount({ account: 'console', shell: true, password: { secret } }, run, 1000, file)
  t.notOk(calls.some(({ argv }) => argv.join(' ').includes(secret)))
  t.strictSame(
    calls.map(({ options }) => options?.input),
    [undefined, `console:${secret}\n`, undefined],
  )
  t.ok(calls.every(({ options }) => options?.isUnconfined))
})

t.test('a failure ends it, and does not reveal the password', async (t) => {
  const { file, run, programs } = fixture(t, OFF, 'chpasswd')
  const result = await changeAccount({ account: 'console', shell: true, password: { secret } }, run, 1000, file)
  t.equal(result.exitCode, 1)
  t.match(result.output, /^refused: console:\*\*/)
  t.notOk(result.output.includes(secret))
  t.strictSame(programs(), ['chpasswd'], 'no shell without the password')
})

t.test('the absence of sessions is no failure', async (t) => {
  for (const failing of ['loginctl', 'pkill']) {
    const { file, run } = fixture(t, ON, failing)
    const change = { account: 'console', shell: false, password: 'random' } as const
    t.match(await changeAccount(change, run, 1000, file), { exitCode: 0 }, failing)
  }
})

t.test('hasLoginShell reads the account from the operating system', async (t) => {
  const file = join(temporaryFolder(t, 'accounts'), 'passwd')
  const says = async (passwd: string) => {
    writeFileSync(file, passwd)
    return hasLoginShell('console', file)
  }
  t.equal(await says(ON), true)
  t.equal(await says(`${CONSOLE}\n`), true, 'no shell means /bin/sh')
  t.equal(await says(OFF), false)
  t.equal(await says(`${CONSOLE}/bin/false\n`), false)
  t.equal(await says(`${ROOT}console2:x:1:1::/:/bin/bash\n`), false, 'no such account')
  t.equal(await hasLoginShell('console', `${file}.gone`), undefined, 'cannot be read')
  t.equal(await hasLoginShell('console', join(file, '..')), undefined, 'cannot be read')
})
