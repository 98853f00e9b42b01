import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { type Daemon, daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { sandboxProblem } from '../fixtures/sandbox.ts'
import { freePort } from '../fixtures/traffic.ts'

/** A process that is about to execute a program has not closed anything yet. */
const BEGINNERS = new Set(['node', 'perl'])
/** Opens a connection, and waits until the test has inspected everything around it. */
const CHECK = '#!/bin/bash\nexec 5<>"/dev/tcp/$3/$4"\nread -r <&5\n'

const orNothing = <T>(read: () => readonly T[]): readonly T[] => {
  try {
    return read()
  } catch {
    // It ended meanwhile.
    return []
  }
}

function childrenOf(pid: number): readonly number[] {
  const threads = orNothing(() => readdirSync(`/proc/${pid}/task`))
  const direct = threads.flatMap((thread) =>
    orNothing(() => [readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')]).flatMap((text) =>
      text.trim() === '' ? [] : text.trim().split(' ').map(Number),
    ),
  )
  return direct.flatMap((child) => [child, ...childrenOf(child)])
}

/** Returns the open files by descriptor: a path, or a kind and its number (socket:[1], pipe:[2]). */
function descriptorsOf(pid: number): ReadonlyMap<number, string> {
  const folder = `/proc/${pid}/fd`
  const numbers = orNothing(() => readdirSync(folder))
  return new Map(
    numbers.flatMap((number) => orNothing(() => [[Number(number), readlinkSync(`${folder}/${number}`)] as const])),
  )
}

/**
 * Inspects every descendant of the daemon until it is stopped; collects the daemon's files that each program had open.
 */
class Watch {
  readonly seen = new Set<string>()
  readonly inherited = new Map<string, ReadonlySet<string>>()
  readonly #daemon: Daemon
  #isOver = false

  constructor(daemon: Daemon) {
    this.#daemon = daemon
  }

  look(): void {
    // Names without an owner, such as epoll, and files that every program opens.
    const names = [...descriptorsOf(this.#daemon.pid).values()]
    const own = new Set(names.filter((name) => !/^(anon_inode:|\/dev\/)/.test(name)))
    for (const pid of childrenOf(this.#daemon.pid)) {
      const [exe = ''] = orNothing(() => [readlinkSync(`/proc/${pid}/exe`)])
      const program = exe.slice(exe.lastIndexOf('/') + 1)
      if (program === '' || BEGINNERS.has(program)) continue
      this.seen.add(program)
      const extra = [...descriptorsOf(pid)].filter(
        ([number, name]) => number > 2 && (own.has(name) || this.#isState(name)),
      )
      if (extra.length > 0) this.inherited.set(program, new Set(extra.map(([number, name]) => `${number} ${name}`)))
    }
  }

  /** In the state folder, a check has only its own script, and HAProxy its own files. */
  #isState(name: string): boolean {
    const { state } = this.#daemon
    if (!name.startsWith(`${state}/`)) return false
    return !['haproxy', 'health-check-trials'].some((folder) => name.startsWith(`${state}/${folder}/`))
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      this.look()
      await wait(2)
    }
  }

  stop(): void {
    this.#isOver = true
  }
}

t.test('no open file of the daemon reaches a program that it starts', async (test) => {
  const daemon = await daemonFixture(test)
  const watch = new Watch(daemon)
  void watch.run()
  test.teardown(() => watch.stop())
  const create = async (path: string, body: object) => (await daemon.data('POST', path, body)).id as string
  const frontend = { name: 'f', mode: 'tcp', ip: '127.0.0.1', ports: String(await freePort()) }
  await create('/layer7proxy/frontends', frontend)
  const network = { name: 'lan', networkIp: '192.0.2.0', networkMask: 24, assignedInterfaces: [] }
  const groupId = await create('/ipgroups', network)
  const sip = await create(`/${daemon.node}/sips`, { groupId, ip: '192.0.2.10' })

  // A program that runs for some milliseconds is restarted until it was seen.
  const seenBy = async (program: string, begin: () => Promise<unknown>) => {
    await until(program, begin, () => watch.seen.has(program))
  }
  await daemon.data('PUT', '/services/apply')
  await seenBy('haproxy', () => daemon.call('PUT', '/services/validate'))
  await seenBy('ping', () => daemon.call('POST', `/${daemon.node}/sips/${sip}/ping`, { body: { to: '127.0.0.1' } }))
  if (sandboxProblem() === false) await heldCheck(daemon, watch)
  test.ok(watch.seen.has('haproxy') && watch.seen.has('ping'), [...watch.seen].join(' '))
  if (sandboxProblem() === false) test.ok(watch.seen.has('bwrap'), 'a check in its sandbox')
  test.strictSame(
    [...watch.inherited].map(([program, names]) => [program, ...names]),
    [],
  )
})

/** A check that is being tested and does not end before it was inspected. */
async function heldCheck(daemon: Daemon, watch: Watch): Promise<void> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const connected = once(server, 'connection')
  const check = { name: 'own', description: '', script: CHECK, services: ['layer-7'] }
  const { id } = await daemon.data('POST', '/healthchecks', check)
  const tried = daemon.data('POST', `/healthchecks/${id}/test`, { ip: '127.0.0.1', port })
  const [socket] = (await connected) as [Socket]
  watch.look()
  socket.end('go on\n')
  await tried
  server.close()
}
