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
 * The password is set before the shell is opened, so that the shell is never open with an unwanted password. When
 * access ends, the shell is changed last, because access counts as on until then: an interrupted change is repeated. An
 * account that does not exist is not created just to be off.
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
  // Ends sessions that were opened with a key in the meantime.
  if (shell === false) steps.push(() => endSessions(account, run, timeout_ms))
  for (const step of steps) {
    const result = await step()
    if (result.exitCode !== 0) return result
  }
  return DONE
}

/** Whether the account can log in; undefined when /etc/passwd cannot be read. */
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

/** Returns the seventh field, where '' stands for /bin/sh; undefined when there is no such account. */
function shellOf(account: Account, passwd: string): string | undefined {
  const line = passwd.split('\n').find((entry) => entry.startsWith(`${account}:`))
  return line === undefined ? undefined : (line.split(':')[6] ?? '')
}

function creation(account: Account): readonly string[] {
  return ['useradd', '--system', '--user-group', '--create-home', '--home-dir', HOME, '--shell', NO_LOGIN, account]
}

/** Passes the password on standard input, because all users can read the arguments of a process. */
async function setPassword(account: Account, secret: string, run: Run, timeout_ms: number): Promise<RunResult> {
  const result = await run(['chpasswd'], timeout_ms, { input: `${account}:${secret}\n`, isUnconfined: true })
  return { exitCode: result.exitCode, output: result.output.replaceAll(secret, '**') }
}

/** Ends all sessions, because an open session would keep its shell. It is no failure if there are none. */
async function endSessions(account: Account, run: Run, timeout_ms: number): Promise<RunResult> {
  await run(['loginctl', 'terminate-user', account], timeout_ms, { isUnconfined: true })
  await run(['pkill', '--signal', 'KILL', '--uid', account], timeout_ms, { isUnconfined: true })
  return DONE
}
