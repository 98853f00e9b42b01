import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { apiClient } from './api-client.ts'
import { type Bind, type Container, startContainer } from './container.ts'
import type { Finished } from './debian-tree.ts'

const PROJECT = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '')

export interface ApplianceOptions {
  /** Runs before the daemon starts for the first time. */
  readonly prepare?: (machine: Container) => Promise<unknown>
}

/**
 * Starts a machine on which the daemon of this working copy runs as its unit says, with its administrator logged in.
 */
export async function startAppliance(
  test: Test,
  binds: readonly Bind[] = [],
  { prepare = async () => undefined }: ApplianceOptions = {},
) {
  const machine = await startContainer([{ host: PROJECT, inside: '/opt/fulcrum' }, ...binds])
  test.teardown(() => machine.stop())
  const output = async (...argv: readonly string[]) => textOf(await machine.run(...argv))
  const write = (path: string, text: string) =>
    machine.run('sh', '-c', 'mkdir -p "$(dirname "$1")" && printf %s "$2" > "$1"', 'sh', path, text)
  const units = ['fulcrum.service', 'snmpd.service.d'].map((name) => `/opt/fulcrum/systemd/${name}`)
  await machine.run('cp', '-r', ...units, '/etc/systemd/system/')
  await prepare(machine)
  await machine.run('systemctl', 'daemon-reload')
  const journal = () => output('journalctl', '-u', 'fulcrum', '-o', 'cat', '--no-pager')
  const startDaemon = async () => {
    const { exitCode, stderr } = await machine.run('systemctl', 'start', 'fulcrum')
    if (exitCode !== 0) throw new Error(`the daemon did not start: ${stderr}\n${await journal()}`)
  }
  await startDaemon()
  const api = apiClient((...argv) => machine.inNetwork(...argv))
  const password = await output('cat', '/var/lib/fulcrum/first-password')
  const { status, data } = await api.logIn('admin@localhost', password)
  if (status !== 200) throw new Error(`no login: ${await journal()}`)
  const { appliance_id: node } = data as { appliance_id: string }
  return { machine, api, output, write, journal, startDaemon, node, password }
}

export const textOf = ({ stdout }: Finished): string => stdout.trim()
