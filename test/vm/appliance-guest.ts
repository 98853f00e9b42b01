import type { Test } from 'tap'
import { apiClient } from '../system/api-client.ts'
import { until } from '../fixtures/until.ts'
import type { Finished } from '../system/debian-tree.ts'
import { buildPackage } from '../system/fulcrum-package.ts'
import { startGuest } from './guest.ts'

/** Time for operations that take a second elsewhere. */
const PATIENCE_MS = 300_000
/** While an apply runs, a caller that stopped waiting for it is refused the next one. */
const ANSWER_S = 300

/** The installed version. */
export const VERSION = '0.1.0~1'

/**
 * A guest with the package of this working copy, and its administrator logged in. `fill` adds files to /srv/payload.
 */
export async function startApplianceGuest(test: Test, fill?: (folder: string) => Promise<void>) {
  const guest = await startGuest(async (folder) => {
    await buildPackage(VERSION, folder)
    await fill?.(folder)
  })
  test.teardown(() => guest.stop())
  const output = async (...argv: readonly string[]) => textOf(await guest.run(...argv))
  const shell = (script: string) => output('sh', '-c', script)
  const installed = await guest.run('dpkg', '--install', `/srv/payload/fulcrum_${VERSION}_amd64.deb`)
  const soon = (what: string, isDone: () => Promise<boolean>) => until(what, isDone, Boolean, PATIENCE_MS)
  const journal = () => output('journalctl', '-u', 'fulcrum', '-o', 'cat', '--no-pager')
  if (installed.exitCode !== 0) throw new Error(`not installed: ${installed.stderr}${await journal()}`)
  const api = apiClient((...argv) => guest.run(...argv), undefined, ANSWER_S)
  // On a slow guest the unit is started more than once before it answers; the password exists from its first start on.
  const logIn = async () => {
    const password = (firstPassword ||= await output('cat', '/var/lib/fulcrum/first-password'))
    const { status, data, text } = await api.logIn('admin@localhost', password)
    if (status !== 200) throw new Error(`no login: ${status} ${text}`)
    return (data as { appliance_id: string }).appliance_id
  }
  let [firstPassword, node, refusal] = ['', '', '']
  const isIn = async () => {
    node = await logIn().catch((reason: unknown) => ((refusal = String(reason)), ''))
    return node !== ''
  }
  await soon('a login', isIn).catch(async (error: unknown) => {
    throw new Error(`${refusal}\n${await journal()}`, { cause: error })
  })
  return { guest, api, output, shell, journal, node, logIn, soon }
}

const textOf = ({ stdout }: Finished): string => stdout.trim()
