import { createHash } from 'node:crypto'
import {
  chmodSync,
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
import { debianTree, finished, testCache } from '../system/debian-tree.ts'

const AGENT = fileURLToPath(new URL('guest-agent.mjs', import.meta.url))
/** The package's files for the initial file system. The emulator reads that from outside, so it is built here. */
const HOOK = readFileSync(new URL('../../systemd/initramfs-hook', import.meta.url), 'utf8')
const HOOK_PATH = 'usr/share/initramfs-tools/hooks/fulcrum'
const INITRAMFS = `set -e
root="$1"
mount --rbind /dev "$root/dev"; mount -t proc proc "$root/proc"
chroot "$root" update-initramfs -u
# Not again by the package in the guest, where it takes minutes and nobody would read it.
echo update_initramfs=no > "$root/etc/initramfs-tools/update-initramfs.conf"
`
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
  'openssl',
  'lvm2',
  'ipvsadm',
  'keepalived',
  'nftables',
  'conntrack',
  'bubblewrap',
  'tcpdump',
  'socat',
  'curl',
  'ca-certificates',
  'login',
  'passwd',
] as const
/** The emulator, of a Debian whose QEMU starts programs in the guest several times as fast as the one before. */
const EMULATOR = { suite: 'trixie', packages: ['qemu-system-x86'] } as const
/** The root and, beside it, space for snapshots of it. */
const SIZE = { disk: '8G', root: '3G' } as const
/** Offset of the first logical volume of a disk: LVM's own default, set explicitly. */
const OFFSET_BYTES = 1024 * 1024
/** Only this disk is scanned, and the kernel that runs this needs no device mapper. */
const VOLUMES = `set -e
root="$1"; size="$3"; disk=$(losetup --find --show "$2"); trap 'losetup --detach "$disk"' EXIT
mount --rbind /dev "$root/dev"; mount -t proc proc "$root/proc"; mount -t tmpfs tmpfs "$root/run"
in_root() { chroot "$root" "$@" --devices "$disk" --config 'backup { backup=0 archive=0 } activation { udev_sync=0 udev_rules=0 }'; }
in_root pvcreate --dataalignment 1m "$disk"
in_root vgcreate vg0 "$disk"
in_root lvcreate --driverloaded n --activate n --zero n --wipesignatures n --name root --size "$size" vg0
`

/** Files that turn a tree of packages into a machine, by path. */
const FILES: Readonly<Record<string, string>> = {
  '/etc/hostname': 'guest\n',
  '/etc/hosts': '127.0.0.1 localhost\n127.0.1.1 guest\n',
  '/etc/fstab': '/dev/mapper/vg0-root / ext4 rw,noatime 0 1\nLABEL=PAYLOAD /srv/payload ext4 ro 0 2\n',
  '/etc/systemd/network/10-eth0.network':
    '[Match]\nName=eth0\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\nLinkLocalAddressing=no\n',
  '/etc/systemd/system/guest-agent.service': `[Unit]
After=local-fs.target dev-virtio\\x2dports-fulcrum.device
Wants=dev-virtio\\x2dports-fulcrum.device
[Service]
ExecStart=/srv/payload/node /srv/payload/guest-agent.mjs
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
  /** Folder with the guest's disk, kernel and initial file system; never written to. */
  readonly folder: string
}

/** Root folder from which guests are made. It is never changed. */
export const guestTree = (): Promise<string> => debianTree(SUITE, PACKAGES)

/** Built once and stored under a name derived from its recipe. */
export async function guestImage(): Promise<GuestImage> {
  const emulator = await debianTree(EMULATOR.suite, EMULATOR.packages)
  const recipe = JSON.stringify([SUITE, PACKAGES, SIZE, VOLUMES, FILES, ENABLED, MASKED, HOOK, INITRAMFS])
  const cache = testCache()
  const folder = join(cache, `guest-${createHash('sha256').update(recipe).digest('hex').slice(0, 16)}`)
  if (existsSync(folder)) return { emulator, folder }
  const tree = await guestTree()
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
    await rootDisk(root, join(target, 'disk.img'))
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
  mkdirSync(join(root, 'srv/payload'), { recursive: true })
  await must('systemctl', `--root=${root}`, '--quiet', 'enable', ...ENABLED)
  await must('systemctl', `--root=${root}`, '--quiet', 'mask', ...MASKED)
  writeFileSync(join(root, HOOK_PATH), HOOK)
  chmodSync(join(root, HOOK_PATH), 0o755)
  await must('unshare', '-m', 'sh', '-c', INITRAMFS, 'sh', root)
}

/** Root on LVM. The tree has the programs for that. */
async function rootDisk(root: string, target: string): Promise<void> {
  await must('truncate', '-s', SIZE.disk, target)
  await must('unshare', '-m', 'sh', '-c', VOLUMES, 'sh', root, target, SIZE.root)
  await fileSystem(root, 'ROOT', SIZE.root, target, OFFSET_BYTES)
}

/** A disk of the guest with the files that `fill` writes, and the agent for the tests. */
export async function payloadDisk(fill: (folder: string) => Promise<void>, target: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-payload-'))
  try {
    await fill(folder)
    cpSync(process.execPath, join(folder, 'node'))
    cpSync(AGENT, join(folder, 'guest-agent.mjs'))
    await fileSystem(folder, 'PAYLOAD', '600M', target)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Nothing of that root runs meanwhile. */
const IN_DISK = `set -e
disk="$1" files="$2" offset="$3" script="$4"
root="$disk.root"; mkdir "$root"
mount -o "loop,offset=$offset" "$disk" "$root"
mount --bind "$files" "$root/mnt"; mount --rbind /dev "$root/dev"; mount -t proc proc "$root/proc"
chroot "$root" sh -ec "$script"
umount -R "$root"; rmdir "$root"
`

/** Runs a script in the root of a disk, as when an image is built; it finds the files of a folder in /mnt. */
export async function inDisk(disk: string, files: string, script: string): Promise<void> {
  await must('unshare', '-m', 'sh', '-c', IN_DISK, 'sh', disk, files, `${OFFSET_BYTES}`, script)
}

/** Creates a file system with the files of a folder, without mounting anything. */
async function fileSystem(folder: string, label: string, size: string, target: string, offset = 0): Promise<void> {
  const options = `offset=${offset},lazy_itable_init=1`
  await must('mke2fs', '-q', '-t', 'ext4', '-L', label, '-d', folder, '-E', options, target, size)
}

/** Returns its output. */
export async function must(program: string, ...args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await finished(program, args)
  if (exitCode !== 0) throw new Error(`${program} failed: ${stderr.slice(-2000)}`)
  return stdout
}
