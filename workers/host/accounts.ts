import { randomBytes } from 'node:crypto'
import type { AccountChange, RunResult } from '../../src/drivers/host.ts'
import { readText } from './durable-files.ts'
import type { Run } from './managed-program.ts'

const PASSWD = '/etc/passwd'
const HOME = '/var/lib/fulcrum-console'
const LOGIN_SHELL = '/bin/bash'
const NO_LOGIN = '/usr/sbin/nologin'
const RANDOM_BYTES = 48
const DONE: RunResult = { exitCode: 0, output: '' }

type Account = AccountChange['account']

/**
 * The password comes before the shell: at no moment does a shell stand open with a password that was not wanted. On the
 * way out the shell goes last, as it is what tells that access is off: what ends half-way still seems to be on, and is
 * done again. An account that is to be off and does not exist is not made.
 */
export async function changeAccount(
  change: AccountChange,
  run: Run,
  timeout_ms: number,
  passwdFile = PASSWD,
): Promise<RunResult> {
  const { account, shell, password } = change
  const exists = shellOf(account, (await readText(passwdFile)) ?? '') !== undefined
  if (!exists && shell !== true) return DONE
  const outside = { isUnconfined: true }
  const steps: (() => Promise<RunResult>)[] = []
  if (!exists) steps.push(() => run(creation(account), timeout_ms, outside))
  if (password !== undefined) {
    const secret = password === 'random' ? randomBytes(RANDOM_BYTES).toString('base64') : password.secret
    steps.push(() => setPassword(account, secret, run, timeout_ms))
  }
  if (shell === false) steps.push(() => endSessions(account, run, timeout_ms))
  if (shell !== undefined) {
    const program = shell ? LOGIN_SHELL : NO_LOGIN
    steps.push(() => run(['usermod', '--shell', program, account], timeout_ms, outside))
  }
  // Sessions that a key has opened meanwhile.
  if (shell === false) steps.push(() => endSessions(account, run, timeout_ms))
  for (const step of steps) {
    const result = await step()
    if (result.exitCode !== 0) return result
  }
  return DONE
}

/** Whether the account can log in; undefined when that cannot be read. */
export async function hasLoginShell(account: Account, passwdFile = PASSWD): Promise<boolean | undefined> {
  let passwd: string | undefined
  try {
    passwd = await readText(passwdFile)
  } catch {
    return undefined
  }
  if (passwd === undefined) return undefined
  const shell = shellOf(account, passwd)
  return shell !== undefined && !/\/(nologin|false)$/.test(shell)
}

/** The seventh field; '' stands for /bin/sh. undefined when there is no such account. */
function shellOf(account: Account, passwd: string): string | undefined {
  const line = passwd.split('\n').find((entry) => entry.startsWith(`${account}:`))
  return line === undefined ? undefined : (line.split(':')[6] ?? '')
}

function creation(account: Account): readonly string[] {
  return ['useradd', '--system', '--user-group', '--create-home', '--home-dir', HOME, '--shell', NO_LOGIN, account]
}

/** On standard input, because everybody can read the arguments of a process. */
async function setPassword(account: Account, secret: string, run: Run, timeout_ms: number): Promise<RunResult> {
  const result = await run(['chpasswd'], timeout_ms, { input: `${account}:${secret}\n`, isUnconfined: true })
  return { exitCode: result.exitCode, output: result.output.replaceAll(secret, '**') }
}

/** A session that is logged in would keep the shell. There may be none: that is no failure. */
async function endSessions(account: Account, run: Run, timeout_ms: number): Promise<RunResult> {
  await run(['loginctl', 'terminate-user', account], timeout_ms, { isUnconfined: true })
  await run(['pkill', '--signal', 'KILL', '--uid', account], timeout_ms, { isUnconfined: true })
  return DONE
}
