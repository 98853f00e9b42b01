import { type ChildProcess, spawn } from 'node:child_process'
import { on, once } from 'node:events'
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Finished } from '../system/debian-tree.ts'
import { guestImage, type GuestImage, must, payloadDisk } from './guest-image.ts'

/** A Debian machine with its own kernel, clock and power button. Its writes are lost when it ends. */
export interface Guest {
  /** Runs a program inside; a failure is in the result and is not thrown. */
  run(...argv: readonly string[]): Promise<Finished>
  /** Identifies the time since the last start of the machine. */
  bootId(): Promise<string>
  /** Resolves when the machine is up again after that boot; the caller has requested the restart. */
  upAgain(before: string): Promise<void>
  /** Resolves when the machine has switched itself off. */
  off(): Promise<void>
  /** Data that its kernel had not written are lost. For a machine with its own disk: the others forget everything. */
  cutPower(): Promise<void>
  /** Resolves when it is up again. */
  powerOn(): Promise<void>
  /** Pulls the cable of a network interface, or plugs it in; the interface notices. */
  cable(card: number, state: 'on' | 'off'): Promise<void>
  stop(): Promise<void>
}

/** One machine of several: it has its own disk, and network interfaces after the first, eth0. */
export interface Hardware {
  readonly memory_mib: number
  readonly processors: number
  /** Folder with a payload disk that several read. */
  readonly payload: string
  /** A network namespace that has these ports. */
  readonly space: string
  readonly cards: readonly { readonly port: string; readonly mac: string }[]
  /** Adds to its disk before it starts. */
  readonly prepare?: (disk: string) => Promise<void>
}

const PROGRAMS = ['mmdebstrap', 'mke2fs', 'unshare', 'setpriv', 'chroot', 'systemctl', 'losetup', 'dpkg-deb'] as const
const BOOT_MS_MAX = 600_000
// The emulator runs in its own Debian tree; the folders that it needs are mounted where only it sees them.
const IN_TREE = `set -e
tree="$4"
mount --bind "$1" "$tree/media"; mount --bind "$2" "$tree/mnt"; mount --bind "$3" "$tree/srv"
mount --rbind /dev "$tree/dev"
shift 4
exec chroot "$tree" "$@"
`
const MACHINE = [
  '-M q35 -accel tcg,thread=multi -cpu max',
  '-display none -nodefaults -serial file:/mnt/console.log -monitor unix:/mnt/monitor,server=on,wait=off',
  '-kernel /media/vmlinuz -initrd /media/initrd.img',
  '-drive file=/srv/payload.img,if=virtio,format=raw,readonly=on',
  '-chardev socket,id=agent,path=/mnt/agent,server=on,wait=off',
  '-device virtio-serial-pci -device virtserialport,chardev=agent,name=fulcrum',
  // A network that leads nowhere.
  '-netdev user,id=net0,restrict=on -device virtio-net-pci,netdev=net0,mac=52:54:00:00:00:01,romfile=',
]
// By default the kernel considers the emulated processors' counters unsynchronised, and reads the time from a device at
// many times the cost; they are the counter of the emulating machine.
const CLOCK = 'tsc=reliable clocksource=tsc'
const KERNEL = `console=ttyS0 root=/dev/mapper/vg0-root rw quiet net.ifnames=0 mitigations=off ${CLOCK}`
const EMULATOR = ['env', 'TMPDIR=/mnt', 'qemu-system-x86_64', '-append', KERNEL, ...MACHINE.join(' ').split(' ')]

/** Returns why no guest can be started here, or undefined. */
export function guestObstacle(): string | undefined {
  if (process.env['FULCRUM_TEST_VM'] === undefined) return 'takes minutes: npm run test:vm'
  if (process.getuid?.() !== 0) return 'needs root'
  const missing = PROGRAMS.filter((name) => !isOnPath(name))
  return missing.length > 0 ? `not installed: ${missing.join(', ')}` : undefined
}

function isOnPath(program: string): boolean {
  return [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'].some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** Starts a guest with the files that `fill` writes in /srv/payload. */
export async function startGuest(fill: (folder: string) => Promise<void>): Promise<Guest> {
  const image = await guestImage()
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-guest-'))
  try {
    await payloadDisk(fill, join(folder, 'payload.img'))
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  return started(image, folder, undefined)
}

/** Starts one of several, with its own disk and network interfaces. */
export async function startMachine(hardware: Hardware): Promise<Guest> {
  const image = await guestImage()
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-guest-'))
  await must('cp', '--sparse=always', '--reflink=auto', join(image.folder, 'disk.img'), folder)
  await hardware.prepare?.(join(folder, 'disk.img'))
  return started(image, folder, hardware)
}

async function started(image: GuestImage, folder: string, hardware: Hardware | undefined): Promise<Guest> {
  let emulator: ChildProcess | undefined
  let ended: Promise<void> = Promise.resolve()
  let agent: Agent | undefined
  const up = async () => {
    emulator = startEmulator(image, folder, hardware)
    ended = once(emulator, 'exit').then(() => undefined)
    agent = await Agent.connect(join(folder, 'agent'), emulator)
    await agent.booted()
  }
  const cutPower = async () => {
    emulator?.kill('SIGKILL')
    await ended
  }
  const stop = async () => {
    await cutPower()
    rmSync(folder, { recursive: true, force: true })
  }
  const inside = (): Agent => {
    if (agent === undefined) throw new Error('it never was up')
    return agent
  }
  try {
    await up()
  } catch (error) {
    const said = tail(folder)
    await stop()
    throw new Error(`the guest did not start: ${said}`, { cause: error })
  }
  return {
    run: (...argv) => inside().run(argv),
    bootId: () => inside().bootId(),
    async upAgain(before) {
      try {
        await inside().booted(before)
      } catch (error) {
        throw new Error(`not up again: ${await inside().journal()}${tail(folder)}`, { cause: error })
      }
    },
    off: () => ended,
    cutPower,
    powerOn: up,
    cable: (card, state) => monitor(folder, `set_link net${card} ${state}`),
    stop,
  }
}

/** Sends one command to the emulator, whose next prompt is the answer. */
async function monitor(folder: string, command: string): Promise<void> {
  const socket = connect(join(folder, 'monitor'))
  const prompt = async () => {
    for await (const text of on(socket, 'data')) if (String(text).includes('(qemu) ')) return
  }
  try {
    await prompt()
    socket.write(`${command}\n`)
    await prompt()
  } finally {
    socket.destroy()
  }
}

/** The end of the machine's console output. */
function tail(folder: string): string {
  const log = join(folder, 'console.log')
  return existsSync(log) ? readFileSync(log, 'utf8').slice(-2000) : ''
}

function startEmulator({ emulator, folder: image }: GuestImage, folder: string, own: Hardware | undefined) {
  const disk = own === undefined ? '/media/disk.img,snapshot=on' : '/mnt/disk.img'
  const cards = (own?.cards ?? []).flatMap(({ port, mac }, at) => [
    '-netdev',
    `tap,id=net${at + 1},ifname=${port},script=no,downscript=no`,
    '-device',
    `virtio-net-pci,netdev=net${at + 1},mac=${mac},romfile=`,
  ])
  const more = [
    '-m',
    `${own?.memory_mib ?? 1024}`,
    '-smp',
    `${own?.processors ?? 2}`,
    '-drive',
    `if=virtio,format=raw,file=${disk}`,
    ...cards,
  ]
  const within = own === undefined ? [] : ['nsenter', `--net=/run/netns/${own.space}`]
  const mounts = [image, folder, own?.payload ?? folder, emulator]
  const argv = ['unshare', '-m', 'sh', '-c', IN_TREE, 'sh', ...mounts, ...EMULATOR, ...more]
  return spawn('setpriv', ['--pdeathsig', 'KILL', ...within, ...argv], { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** The other end of guest-agent.mjs. */
class Agent {
  readonly #socket: Socket
  readonly #waiting = new Map<number, (finished: Finished) => void>()
  #last = 0

  private constructor(socket: Socket) {
    this.#socket = socket
    const lines = createInterface({ input: socket })
    lines.on('line', (line) => {
      const { id, ...finished } = JSON.parse(line) as Finished & { id: number }
      this.#waiting.get(id)?.(finished)
      this.#waiting.delete(id)
    })
    // The emulator has ended; a waiting caller reaches its deadline.
    for (const stream of [socket, lines]) stream.on('error', () => undefined)
  }

  static async connect(path: string, emulator: ChildProcess): Promise<Agent> {
    const deadline = performance.now() + BOOT_MS_MAX
    while (performance.now() < deadline && emulator.exitCode === null) {
      const socket = connect(path)
      try {
        await once(socket, 'connect')
        return new Agent(socket)
      } catch {
        // The emulator creates the socket first, and listens a moment later.
        await sleep(100)
      }
    }
    throw new Error('the emulator does not run')
  }

  /** While the guest is down the request waits for it, unless `limit_ms` ends that. */
  run(argv: readonly string[], limit_ms?: number): Promise<Finished> {
    const id = (this.#last += 1)
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, resolve)
      this.#socket.write(`${JSON.stringify({ id, argv })}\n`)
      if (limit_ms === undefined) return
      setTimeout(() => reject(new Error('no answer from the guest')), limit_ms).unref()
    })
  }

  async bootId(limit_ms?: number): Promise<string> {
    return (await this.run(['cat', '/proc/sys/kernel/random/boot_id'], limit_ms)).stdout.trim()
  }

  /** The end of the journal, of a guest that answers. */
  async journal(): Promise<string> {
    const argv = ['journalctl', '-n', '80', '-o', 'short-monotonic', '--no-pager']
    return this.run(argv, 10_000).then(
      ({ stdout }) => stdout,
      () => 'no answer\n',
    )
  }

  /** Resolves once its start-up jobs are done; of another boot than `before`. */
  async booted(before?: string): Promise<void> {
    const deadline = performance.now() + BOOT_MS_MAX
    while (performance.now() < deadline) {
      const now = await this.bootId(2_000).catch(() => undefined)
      if (now !== undefined && now !== before) {
        await this.run(['systemctl', 'is-system-running', '--wait'], BOOT_MS_MAX)
        return
      }
      await sleep(250)
    }
    throw new Error('the guest did not come up')
  }
}
