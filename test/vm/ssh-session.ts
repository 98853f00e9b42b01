import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import type { Namespace } from '../system/network-namespace.ts'
import { guestTree, must } from './guest-image.ts'

/** OpenSSH in network namespaces: a server that accepts one key, and a session over it with repeated lines. */

const PORT = '2222'
const ASK_EVERY_MS = 100
const [SSHD_CONFIG, SSH_CONFIG, KNOWN_HOSTS] = ['sshd_config', 'ssh_config', 'known_hosts'] as const
const [HOST_KEY, LOGIN_KEY] = ['host_key', 'login_key'] as const
/** By name, in the folder that both ends see as /mnt. */
const FILES: Readonly<Record<string, string>> = {
  [SSHD_CONFIG]: `Port ${PORT}
HostKey /mnt/${HOST_KEY}
AuthorizedKeysFile /mnt/${LOGIN_KEY}.pub
AuthenticationMethods publickey
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
PidFile none
LogLevel ERROR
`,
  [SSH_CONFIG]: `Port ${PORT}
User root
IdentityFile /mnt/${LOGIN_KEY}
IdentitiesOnly yes
BatchMode yes
StrictHostKeyChecking yes
UserKnownHostsFile /mnt/${KNOWN_HOSTS}
GlobalKnownHostsFile none
`,
}
// Both ends are programs of the guests' Debian. A package of the server on the machine that runs the tests would accept
// password logins there after the next boot.
const IN_TREE = `set -e
tree="$1"
mount --bind "$2" "$tree/mnt"; mount --rbind /dev "$tree/dev"; mount -t tmpfs tmpfs "$tree/run"
mkdir "$tree/run/sshd"
shift 2
exec chroot "$tree" "$@"
`

export interface SshSession {
  /** Number of lines that have come back. */
  answered(): number
  /** The exit code of ssh and its last message, if any; '' while the session is open. */
  ended(): string
  /**
   * Sends no more and closes it; returns the number of sent lines, the numbers from 0 on, and those that have come
   * back.
   */
  end(): Promise<{ readonly asked: number; readonly lines: readonly string[] }>
}

/** The host key is known under the address that clients use. */
export async function startSshd(test: Test, server: Namespace, address: string) {
  const tree = await guestTree()
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-ssh-'))
  test.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const inTree = ['-m', '--pid', '--fork', '--kill-child', 'sh', '-c', IN_TREE, 'sh', tree, folder] as const
  /** Ends with the test, together with all processes that it has started. */
  const start = (space: Namespace, ...argv: readonly string[]) => {
    const enter = ['--pdeathsig', 'KILL', 'nsenter', `--net=/run/netns/${space.name}`] as const
    const child = spawn('setpriv', [...enter, 'unshare', ...inTree, ...argv])
    test.teardown(() => child.kill('SIGKILL'))
    return child
  }
  for (const key of [HOST_KEY, LOGIN_KEY])
    await must('unshare', ...inTree, 'ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', `/mnt/${key}`)
  const hostKey = readFileSync(join(folder, `${HOST_KEY}.pub`), 'utf8')
  const files = { ...FILES, [KNOWN_HOSTS]: `[${address}]:${PORT} ${hostKey}` }
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  // It only reports failures, which belong to the output of the test.
  const sshd = start(server, '/usr/sbin/sshd', '-D', '-e', '-f', `/mnt/${SSHD_CONFIG}`)
  sshd.stderr.pipe(process.stderr, { end: false })

  return (clients: Namespace): SshSession => {
    const child = start(clients, 'ssh', '-F', `/mnt/${SSH_CONFIG}`, address, 'cat')
    const closed = once(child, 'close')
    const lines: string[] = []
    let asked = 0
    let said = ''
    let ended = ''
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
    child.stderr.on('data', (text) => (said += String(text)))
    // A session that has ended accepts no more lines; the output of ssh has the reason.
    child.stdin.on('error', () => undefined)
    const timer = setInterval(() => child.stdin.write(`${asked++}\n`), ASK_EVERY_MS)
    child.once('close', (exitCode) => {
      clearInterval(timer)
      ended = [`exit code ${exitCode}`, ...said.trim().split('\n').slice(-1)].filter((text) => text !== '').join(': ')
    })
    return {
      answered: () => lines.length,
      ended: () => ended,
      async end() {
        clearInterval(timer)
        child.stdin.end()
        await closed
        return { asked, lines }
      },
    }
  }
}
