import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { ClusterFiles } from '../../src/membership/cluster-files.ts'
import type { ClusterDaemon } from '../fixtures/cluster-daemons.ts'
import { seenBy } from '../fixtures/cluster-sight.ts'
import { etcdOf } from '../fixtures/etcd-programs.ts'

/** Kills nodes that form or join a cluster, and checks what is left. */

const filesOf = ({ daemon }: ClusterDaemon) => new ClusterFiles(daemon.state)
/** The files that exist at each step, in this order. */
export const STEPS: Readonly<Record<string, (node: ClusterDaemon) => boolean>> = {
  'its folder is there': (node) => filesOf(node).exist,
  'its etcd runs': ({ daemon }) => etcdOf(daemon.state).length > 0,
  'its file says that it is in a cluster': (node) => filesOf(node).read() !== undefined,
}

/** Kills the daemon at this step of the request, and restarts it. */
export async function killedAt(node: ClusterDaemon, step: string, call: Promise<unknown>): Promise<void> {
  const isThere = STEPS[step]!
  const ended = call.then(
    () => true,
    () => true,
  )
  while (!isThere(node) && !(await Promise.race([ended, sleep(1, false)])));
  await node.daemon.kill('SIGKILL')
  await ended
  await node.daemon.start()
  // Sessions are those of the cluster, if the node is in one.
  await node.daemon.login()
}

/** Returns whether it is in a cluster; asserts that nothing of one is left otherwise. */
export async function isIn(t: Test, node: ClusterDaemon): Promise<boolean> {
  const state = await seenBy(node)
  if (state === null)
    t.same([filesOf(node).exist, etcdOf(node.daemon.state)], [false, []], 'nothing of a cluster is left')
  return state !== null
}
