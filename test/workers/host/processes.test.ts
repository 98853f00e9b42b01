import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { randomUUID } from 'node:crypto'
import { readlinkSync } from 'node:fs'
import t from 'tap'
import { commandLine, findProcesses } from '../../../workers/host/processes.ts'

const SLEEP = 'exec sleep 600'

t.test('processes are found by their words, with their parents', async (t) => {
  const word = randomUUID()
  const child = spawn('sh', ['-c', `${SLEEP} & wait`, 'a (name) ', word], { stdio: 'ignore', detached: true })
  t.teardown(() => process.kill(-(child.pid ?? 0), 'SIGKILL'))
  await once(child, 'spawn')
  const found = () => findProcesses((words) => words.includes(word))
  while (!found().some(({ pid }) => pid === child.pid)) await new Promise(setImmediate)
  t.match(
    found().find(({ pid }) => pid === child.pid),
    { parent: process.pid },
  )
  t.ok(commandLine(child.pid ?? 0).includes(word))
  t.same(
    findProcesses((words) => words.includes(randomUUID())),
    [],
  )
  t.same(commandLine(2 ** 22 + 1), [], 'one that has ended has no words')
})

const obstacle = process.getuid?.() === 0 ? false : 'needs root for a root of its own'

t.test('who has another root is none of ours: there the same path is another file', { skip: obstacle }, async (t) => {
  const word = randomUUID()
  const root = [
    'mount -t tmpfs none /mnt && cd /mnt && mkdir usr && mount --bind /usr usr',
    'for link in bin lib lib64; do ln -s "usr/$link" "$link"; done',
    'exec chroot . sh -c "sleep 600; :" "$0"',
  ]
  const other = spawn('unshare', ['-m', 'sh', '-ec', root.join('\n'), word], { stdio: 'ignore' })
  t.teardown(() => other.kill('SIGKILL'))
  // While a program takes the place of another, the kernel shows no words at all.
  const isIn = () => {
    const [program, ...words] = commandLine(other.pid ?? 0)
    return program === 'sh' && words.includes('sleep 600; :') && words.includes(word)
  }
  while (!isIn() && other.exitCode === null) await new Promise(setImmediate)
  t.not(readlinkSync(`/proc/${other.pid}/root`), '/')
  t.same(
    findProcesses((found) => found.includes(word)),
    [],
  )
})
