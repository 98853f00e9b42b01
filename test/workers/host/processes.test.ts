import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import t from 'tap'
import { areGone, commandLine, findProcesses, isEnding } from '../../../workers/host/processes.ts'
import { until, untilHolds } from '../../fixtures/until.ts'

const SLEEP = 'exec sleep 600'

t.test('processes are found by their words, with their parents', async (t) => {
  const word = randomUUID()
  const child = spawn('sh', ['-c', `${SLEEP} & wait`, 'a (name) ', word], { stdio: 'ignore', detached: true })
  t.teardown(() => process.kill(-(child.pid ?? 0), 'SIGKILL'))
  await once(child, 'spawn')
  const found = () => findProcesses((words) => words.includes(word))
  const one = await until('the program', () => found().find(({ pid }) => pid === child.pid))
  t.match(one, { parent: process.pid })
  t.ok(commandLine(child.pid ?? 0).includes(word))
  t.same(
    findProcesses((words) => words.includes(randomUUID())),
    [],
  )
  t.same(commandLine(2 ** 22 + 1), [], 'an ended one has no words')
})

const obstacle = process.getuid?.() === 0 ? false : 'needs root for a root of its own'

t.test('a process with another root is not ours: there the path is another file', { skip: obstacle }, async (t) => {
  const word = randomUUID()
  const root = [
    'mount -t tmpfs none /mnt && cd /mnt && mkdir usr && mount --bind /usr usr',
    'for link in bin lib lib64; do ln -s "usr/$link" "$link"; done',
    'exec chroot . sh -c "sleep 600; :" "$0"',
  ]
  const other = spawn('unshare', ['-m', 'sh', '-ec', root.join('\n'), word], { stdio: 'ignore' })
  t.teardown(() => other.kill('SIGKILL'))
  // During an exec the kernel shows no words at all.
  const isIn = () => {
    const [program, ...words] = commandLine(other.pid ?? 0)
    return program === 'sh' && words.includes('sleep 600; :') && words.includes(word)
  }
  await until('the program', () => isIn() || other.exitCode !== null)
  t.not(readlinkSync(`/proc/${other.pid}/root`), '/')
  t.same(
    findProcesses((found) => found.includes(word)),
    [],
  )
})

/** A program that never waits for its child: prints its pid, and keeps it as a zombie. */
const PARENT = `
import os, time
pid = os.fork()
if pid == 0: os.execvp('sleep', ['sleep', '600'])
print(pid, flush=True)
time.sleep(600)`

t.test('a process has ended when its files are closed, whether or not its parent has noticed', async (t) => {
  const parent = spawn('python3', ['-c', PARENT], { stdio: ['ignore', 'pipe', 'ignore'] })
  t.teardown(() => parent.kill('SIGKILL'))
  const [text] = await once(parent.stdout, 'data')
  const pid = Number(text)
  await untilHolds(() => commandLine(pid).includes('sleep'))
  const found = () => (commandLine(pid).includes('sleep') ? [pid] : [])
  t.notOk(isEnding(pid), 'it runs')
  t.notOk(await areGone([pid], found, 30))
  process.kill(pid, 'SIGKILL')
  t.ok(await areGone([pid], found, 60_000))
  t.match(readFileSync(`/proc/${pid}/stat`, 'utf8'), ') Z ', 'a zombie holds nothing')
  t.notOk(isEnding(2 ** 22 + 1), 'nor does a missing one')
})

/** A program whose first thread has ended, while the second one continues. */
const THREADS = `
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).pthread_exit(None)`

t.test('a process without words holds its files until its last thread has ended', async (t) => {
  const child = spawn('python3', ['-c', THREADS], { stdio: 'ignore' })
  t.teardown(() => child.kill('SIGKILL'))
  const pid = child.pid ?? 0
  await untilHolds(() => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z '))
  t.ok(isEnding(pid), 'its first thread is a zombie, the other one runs')
  t.notOk(await areGone([pid], () => [], 30))
  child.kill('SIGKILL')
  t.ok(await areGone([pid], () => [], 60_000))
})
