import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import type { RadiusHost } from '../../src/model/sign-in.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { finished } from './debian-tree.ts'

/** Debian's FreeRADIUS as an ordinary process, with its own configuration, on loopback. */

export const SHARED_SECRET = 'between FreeRADIUS and this'

const ATTEMPTS_MAX = 3

/** Lines of the users file: a check item, then the answer. */
const USERS = `
alice Cleartext-Password := "correct horse"
	Filter-Id = "ops", Filter-Id += "readers", Class = 0x61646d696e73

pässi Cleartext-Password := "pässwörd €"
	Filter-Id = "größe", Class = 0xff00

longtail Cleartext-Password := "${'x'.repeat(128)}"
	Filter-Id = "ops"

nogroup Cleartext-Password := "correct horse"
`

export async function freeradiusObstacle(): Promise<string | undefined> {
  const found = await finished('freeradius', ['-v']).catch(() => undefined)
  return found?.exitCode === 0 ? undefined : 'freeradius is not installed'
}

async function freePort(address: string): Promise<number> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4')
  socket.bind(0, address)
  await once(socket, 'listening')
  const { port } = socket.address()
  socket.close()
  await once(socket, 'close')
  return port
}

export interface FreeradiusOptions {
  readonly address?: string
  readonly secret?: string
  /** Whether it signs its answers: this version does not by default. */
  readonly signs?: boolean
  readonly users?: string
}

function configuration(folder: string, port: number, options: Required<FreeradiusOptions>): string {
  const { address, secret, signs } = options
  const kind = address.includes(':') ? 'ipv6addr' : 'ipaddr'
  const signature = signs ? 'update reply {\nMessage-Authenticator = 0x00\n}' : ''
  return `
logdir = ${folder}
run_dir = ${folder}
raddbdir = ${folder}
libdir = /usr/lib/freeradius
max_request_time = 10
cleanup_delay = 2
hostname_lookups = no
security {
reject_delay = 0
status_server = yes
}
thread pool {
start_servers = 1
max_servers = 2
min_spare_servers = 1
max_spare_servers = 1
}
client fulcrum {
${kind} = ${address}
secret = "${secret}"
require_message_authenticator = yes
}
modules {
pap {
}
chap {
}
mschap {
}
files {
filename = ${join(folder, 'users')}
}
}
server default {
listen {
type = auth
${kind} = ${address}
port = ${port}
}
authorize {
chap
mschap
files
pap
}
authenticate {
Auth-Type PAP {
pap
}
Auth-Type CHAP {
chap
}
Auth-Type MS-CHAP {
mschap
}
}
post-auth {
${signature}
Post-Auth-Type REJECT {
${signature}
}
}
}
`
}

/** The server, once it listens; undefined when it ended before. */
async function started(test: Test, folder: string) {
  const server = spawn('freeradius', ['-f', '-l', 'stdout', '-d', folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(server, 'exit')
  const stop = async () => {
    server.kill('SIGKILL')
    await ended
  }
  test.teardown(stop)
  const said: string[] = []
  const listens = new Promise<boolean>((resolve) => {
    createInterface(server.stdout).on('line', (line) => {
      said.push(line)
      if (line.includes('Ready to process requests')) resolve(true)
    })
  })
  const isReady = await Promise.race([listens, ended.then(() => false)])
  return { stop, said, isReady }
}

export async function freeradius(test: Test, options: FreeradiusOptions = {}) {
  const wanted = { address: '127.0.0.1', secret: SHARED_SECRET, signs: true, users: USERS, ...options }
  const folder = temporaryFolder(test, 'freeradius')
  writeFileSync(join(folder, 'users'), wanted.users)
  writeFileSync(join(folder, 'dictionary'), '')
  // Another test may bind a port that was free a moment ago.
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort(wanted.address)
    writeFileSync(join(folder, 'radiusd.conf'), configuration(folder, port, wanted))
    const { isReady, stop, said } = await started(test, folder)
    const host: RadiusHost = { host: wanted.address, port, sharedSecret: wanted.secret, priority: 0 }
    if (isReady) return { host, stop }
    if (attempt === ATTEMPTS_MAX) throw new Error(`freeradius ended: ${said.join('\n')}`)
  }
}
