import type { Test } from 'tap'
import { containerObstacle } from '../system/container.ts'
import { finished, TREE_MS_MAX } from '../system/debian-tree.ts'

/**
 * On a machine without it, a tree takes longer to build than most test files take. So each tree has a file that runs
 * before all others and finds or builds it, and later tests with a machine of it do not wait. Where programs are
 * installed this is not done: the run of a single file would wait for trees that it does not need.
 */
export function build(t: Test, tree: () => Promise<string>, ...argv: readonly string[]): void {
  t.setTimeout(TREE_MS_MAX)
  t.test('a tree exists, in which programs run', { skip: containerObstacle() ?? false }, async (test) => {
    const { exitCode, stdout, stderr } = await finished('chroot', [await tree(), ...argv])
    test.equal(exitCode, 0, `${argv.join(' ')}: ${exitCode === 0 ? stdout.split('\n')[0] : stderr}`)
  })
}
