import type { Test } from 'tap'
import { apiClient, until } from '../system/api-client.ts'
import type { Finished } from '../system/debian-tree.ts'
import { startGuest } from './guest.ts'

/** What a guest needs for things that take it a second elsewhere. */
const PATIENCE_MS = 120_000

/** A guest on which the daemon of this working copy runs as its units say, with its administrator logged in. */
export async function startApplianceGuest(test: Test) {
  const guest = await startGuest()
  test.teardown(() => guest.stop())
  const output = async (...argv: readonly string[]) => textOf(await guest.run(...argv))
  const shell = (script: string) => output('sh', '-c', script)
  await shell('cp /opt/fulcrum/systemd/*.service /etc/systemd/system/ && systemctl daemon-reload')
  await shell('cp /opt/fulcrum/systemd/fulcrum.tmpfiles /etc/tmpfiles.d/fulcrum.conf')
  const started = await guest.run('systemctl', 'enable', '--now', 'fulcrum-network', 'fulcrum')
  const soon = (what: string, isDone: () => Promise<boolean>) => until(what, isDone, PATIENCE_MS)
  const journal = () => output('journalctl', '-u', 'fulcrum', '-o', 'cat', '--no-pager')
  if (started.exitCode !== 0) throw new Error(`the daemon did not start: ${await journal()}`)
  const api = apiClient((...argv) => guest.run(...argv))
  const password = await output('cat', '/var/lib/fulcrum/first-password')
  const logIn = async () => {
    const { status, data, text } = await api.logIn('admin@localhost', password)
    if (status !== 200) throw new Error(`no login: ${text}`)
    return (data as { appliance_id: string }).appliance_id
  }
  const node = await logIn()
  return { guest, api, output, shell, journal, node, logIn, soon }
}

const textOf = ({ stdout }: Finished): string => stdout.trim()
