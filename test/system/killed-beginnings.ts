import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { ClusterFiles } from '../../src/membership/cluster-files.ts'
import type { ClusterDaemon } from '../fixtures/cluster-daemons.ts'
import { seenBy } from '../fixtures/cluster-sight.ts'
import { etcdOf } from '../fixtures/etcd-programs.ts'

/** Kills of nodes that form or join a cluster, and how they are found behind it. */

const filesOf = ({ daemon }: ClusterDaemon) => new ClusterFiles(daemon.state)
/** What is there already, in this order. */
export const STEPS: Readonly<Record<string, (node: ClusterDaemon) => boolean>> = {
  'its folder is there': (node) => filesOf(node).exist,
  'its etcd runs': ({ daemon }) => etcdOf(daemon.state).length > 0,
  'its file says that it is in a cluster': (node) => filesOf(node).read() !== undefined,
}

/** Kills the daemon at this step of what was asked for, and starts it again. */
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
  // Sessions are those of the cluster, if it is in one.
  await node.daemon.login()
}

/** Whether it is in a cluster; where it is not, nothing of one is left. */
export async function isIn(t: Test, node: ClusterDaemon): Promise<boolean> {
  const state = await seenBy(node)
  if (state === null) t.same([filesOf(node).exist, etcdOf(node.daemon.state)], [false, []], 'nothing is left of it')
  return state !== null
}
