import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { cable, type Namespace, namespace } from '../system/network-namespace.ts'
import { FLOATING, REAL_SERVER, soon } from './directors.ts'
import { startSshd } from './ssh-session.ts'

/** Traffic while machines fail: an SSH session, a download, and HTTP requests. */

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const [SERVER, DOWNLOADS] = ['l4-server.mjs', 'download-server.mjs'].map(pathOf)
const ASKS = pathOf('../labs/vrrp-client.ts')
const ASK_EVERY_MS = 50
/** Emulated machines often answer late. */
const ANSWER_MS = 5_000

/** A Node program in a namespace, which ends with the test. */
function run(test: Test, space: Namespace, program: string | undefined, ...args: readonly string[]): ChildProcess {
  const argv = [`--net=/run/netns/${space.name}`, process.execPath, '--no-warnings', program ?? '', ...args]
  const child = spawn('nsenter', argv, { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.on('error', () => undefined)
  test.teardown(() => child.kill('SIGKILL'))
  return child
}

/** A real server in the clients' network, which answers them directly; the directors only send it their packets. */
export async function startClients(test: Test, space: Namespace) {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-failover-'))
  test.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const [finish, received] = ['finish', 'received'].map((name) => join(folder, name)) as [string, string]
  const rs = await namespace(test, 'rs')
  await cable(rs, 'eth0', space, 'rs0', 9)
  await space.ip('link set rs0 master lan')
  await rs.output('sysctl', '-qw', 'net.ipv4.conf.all.arp_ignore=1', 'net.ipv4.conf.all.arp_announce=2')
  await rs.ip(`address add ${REAL_SERVER}/24 dev eth0`, `address add ${FLOATING}/32 dev lo`)
  run(test, rs, SERVER, 'rs1', folder, '8088')
  run(test, rs, DOWNLOADS, finish, '8090')
  const session = await startSshd(test, rs, FLOATING)
  const listening = async () => new Set((await rs.output('ss', '-Hltn')).match(/(?<=:)(2222|8088|8090)(?= )/g))
  await soon('its servers', async () => (await listening()).size === 3)

  return {
    /** An SSH login with a line and its echo ten times a second, like a user who types. */
    session: () => session(space),
    download() {
      const enter = `--net=/run/netns/${space.name}`
      const child = spawn('nsenter', [enter, 'curl', '-sS', '--no-buffer', '-o', received, `http://${FLOATING}:8090/`])
      test.teardown(() => child.kill('SIGKILL'))
      const ended = once(child, 'exit')
      return {
        bytes: () => statSync(received, { throwIfNoEntry: false })?.size ?? 0,
        /** Returns how it has ended, and whether each byte is correct and in its place. */
        async end() {
          writeFileSync(finish, '')
          const [exitCode] = await ended
          const content = readFileSync(received)
          let isWhole = content.length % 4 === 0
          for (let at = 0; isWhole && at < content.length; at += 4) isWhole = content.readUInt32LE(at) === at / 4
          return { exitCode: exitCode as number, bytes: content.length, isWhole }
        },
      }
    },
    /** Sends HTTP requests until `work` is done. */
    async gap(work: () => Promise<void>) {
      const asking = run(test, space, ASKS, `http://${FLOATING}:8088/`, String(ASK_EVERY_MS), String(ANSWER_MS))
      if (asking.stdout === null) throw new Error('it has no output')
      const lines = createInterface({ input: asking.stdout })[Symbol.asyncIterator]()
      await lines.next()
      await work()
      asking.stdin?.end()
      return JSON.parse((await lines.next()).value) as { longest_ms: number; answers: number; failed: number }
    },
  }
}
