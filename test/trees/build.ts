import type { Test } from 'tap'
import { containerObstacle } from '../system/container.ts'
import { finished, TREE_MS_MAX } from '../system/debian-tree.ts'

/**
 * On a machine that has none yet, a tree takes longer to build than most test files take. So each has a file that comes
 * before all others and finds or builds it, and whoever starts a machine of it later does not wait. It is not done
 * where programs are installed: then whoever runs one file would wait for trees that it does not need.
 */
export function build(t: Test, tree: () => Promise<string>, ...argv: readonly string[]): void {
  t.setTimeout(TREE_MS_MAX)
  t.test('a tree is there, in which programs run', { skip: containerObstacle() ?? false }, async (test) => {
    const { exitCode, stdout, stderr } = await finished('chroot', [await tree(), ...argv])
    test.equal(exitCode, 0, `${argv.join(' ')}: ${exitCode === 0 ? stdout.split('\n')[0] : stderr}`)
  })
}
