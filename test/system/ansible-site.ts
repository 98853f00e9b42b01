import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { shownBy } from '../../src/cli/connection.ts'
import { certificateRecord } from '../fixtures/certificate.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { type Daemon, daemonFixture } from '../fixtures/daemon.ts'
import { freePort } from '../fixtures/traffic.ts'
import { type Finished, finished } from './debian-tree.ts'
import { echoOrigin, httpOrigin } from './haproxy-traffic.ts'

/** Debian's ansible-core in front of a real daemon, with the collection as `ansible-galaxy` builds and installs it. */

export const COLLECTION = fileURLToPath(new URL('../../systemd/ansible/', import.meta.url))
export const noAnsible = existsSync('/usr/bin/ansible-playbook') ? false : 'needs ansible-core'

/** The result that a task registered. */
// oxlint-disable-next-line typescript/no-explicit-any -- modules answer every shape
export type Registered = any

export interface Task {
  readonly [module: `fulcrum_${string}` | `ansible.${string}`]: object
  readonly check_mode?: boolean
  readonly diff?: boolean
}

export class AnsibleSite {
  readonly daemon: Daemon
  readonly home: string
  readonly variables: Readonly<Record<string, string>>

  constructor(daemon: Daemon, home: string, variables: Readonly<Record<string, string>>) {
    this.daemon = daemon
    this.home = home
    this.variables = variables
  }

  get log(): string {
    return readFileSync(join(this.home, 'ansible.log'), 'utf8')
  }

  file(name: string, text: string): string {
    const path = join(this.home, name)
    writeFileSync(path, text)
    return path
  }

  /** Runs without any configuration of the user who runs the tests. */
  run(program: string, ...argv: readonly string[]): Promise<Finished> {
    const { home } = this
    const env = { HOME: home, PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', ANSIBLE_COLLECTIONS_PATHS: home }
    const more = {
      ANSIBLE_LOG_PATH: join(home, 'ansible.log'),
      ANSIBLE_NOCOLOR: '1',
      ANSIBLE_PIPELINING: '1',
      ANSIBLE_HOME: join(home, 'own'),
    }
    const words = Object.entries({ ...env, ...more }).map(([name, value]) => `${name}=${value}`)
    return finished('env', ['-i', ...words, program, ...argv])
  }

  /** Runs a playbook from the collection's own README, or one of `tasks`. */
  playbook(path: string, inventory: string, ...argv: readonly string[]): Promise<Finished> {
    const more = { ansible_connection: 'local', ansible_python_interpreter: '/usr/bin/python3' }
    const variables = this.file('variables.json', JSON.stringify({ ...this.variables, ...more }))
    return this.run('ansible-playbook', '-i', inventory, '-e', `@${variables}`, ...argv, path)
  }

  /** Runs tasks one after another, whether or not they fail, and returns what they registered. */
  async tasks(tasks: Readonly<Record<string, Task>>, ...argv: readonly string[]): Promise<Registered> {
    const results = join(this.home, 'results.json')
    const listed = Object.entries(tasks).map(([name, task]) => {
      const named = Object.entries(task).map(([key, value]) => [key.replace(/^fulcrum_/, 'fulcrum.fulcrum.$&'), value])
      return { name, ...Object.fromEntries(named), register: name, ignore_errors: true }
    })
    const names = Object.keys(tasks).map((name) => `'${name}': ${name}`)
    const kept = {
      name: 'keep',
      'ansible.builtin.copy': { dest: results, content: `{{ {${names.join(', ')}} | to_json }}` },
    }
    const api = { url: '{{ fulcrum_url }}', token: '{{ fulcrum_token }}', fingerprint: '{{ fulcrum_fingerprint }}' }
    const play = {
      hosts: 'localhost',
      gather_facts: false,
      module_defaults: { 'group/fulcrum.fulcrum.api': api },
      tasks: [...listed, kept],
    }
    // JSON is valid YAML.
    const ended = await this.playbook(this.file('tasks.json', JSON.stringify([play])), 'localhost,', ...argv)
    if (ended.exitCode !== 0) throw new Error(`ansible-playbook: ${ended.stdout}${ended.stderr}`)
    return { ...JSON.parse(readFileSync(results, 'utf8')), said: ended.stdout + ended.stderr }
  }
}

export async function ansibleSite(test: Test): Promise<AnsibleSite> {
  const daemon = await daemonFixture(test)
  const url = `https://127.0.0.1:${daemon.port}`
  const [{ fingerprint }, { token }] = await Promise.all([
    shownBy(url),
    daemon.data('POST', '/localUsers/me/tokens', { name: 'ansible' }),
  ])
  const home = temporaryFolder(test, 'ansible')
  mkdirSync(join(home, 'built'))
  const variables = { fulcrum_url: url, fulcrum_token: String(token), fulcrum_fingerprint: fingerprint }
  const site = new AnsibleSite(daemon, home, variables)
  const built = await site.run(
    'ansible-galaxy',
    'collection',
    'build',
    COLLECTION,
    '--output-path',
    join(home, 'built'),
  )
  const tarball = /\S+\/fulcrum-fulcrum-[\d.]+\.tar\.gz/.exec(built.stdout)?.[0]
  if (tarball === undefined) throw new Error(`ansible-galaxy: ${built.stdout}${built.stderr}`)
  const installed = await site.run('ansible-galaxy', 'collection', 'install', '--offline', tarball, '-p', home)
  if (installed.exitCode !== 0) throw new Error(`ansible-galaxy: ${installed.stdout}${installed.stderr}`)
  return site
}

/**
 * Two web servers behind one frontend, and one behind another frontend whose connections stay open; what they receive.
 */
export async function shop(test: Test) {
  const [port, tcpPort] = [await freePort(), await freePort()]
  const [web1, web2] = [await httpOrigin(test, 'one'), await httpOrigin(test, 'two')]
  const { chain, privateKey } = await certificateRecord(test, 'site')
  const at = { ip: '127.0.0.1' }
  const frontend = { mode: 'http', ...at, ports: String(port), defaultBackendId: 'shop' }
  const document = {
    version: 1,
    realServers: {
      web1: { ...at, port: web1 },
      web2: { ...at, port: web2 },
      raw1: { ...at, port: await echoOrigin(test, 'raw') },
    },
    certificates: { site: { pem: `${chain}${privateKey}` } },
    l7Backends: {
      shop: { mode: 'http', reals: [{ ripId: 'web1' }, { ripId: 'web2' }], healthCheck: { type: 'none' } },
      // A silent connection is not cut off while programs start.
      raw: { mode: 'tcp', reals: [{ ripId: 'raw1' }], healthCheck: { type: 'none' }, timeoutServer: 600 },
    },
    l7Frontends: {
      shop: frontend,
      raw: { mode: 'tcp', ...at, ports: String(tcpPort), defaultBackendId: 'raw', timeoutClient: 600 },
    },
  }
  return { document, frontend, port, tcpPort, web1, web2, privateKey }
}

/** The same with a daemon that runs it, and Ansible in front of it. */
export async function runningShop(test: Test) {
  const site = await ansibleSite(test)
  const parts = await shop(test)
  const applyDocument = async (document: object, terms: object = {}) => {
    const { planId } = await site.daemon.data('POST', '/config/plan', { document })
    await site.daemon.data('PUT', `/config/plans/${planId}/apply`, terms)
  }
  await applyDocument({ ...parts.document, owner: 'shop' })
  return { site, ...parts, applyDocument }
}
