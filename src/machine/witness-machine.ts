import { checkPlan, executePlan } from '../../workers/executor.ts'
import { createHost } from '../../workers/host/create-host.ts'
import type { HostSettings } from '../../workers/host/host-settings.ts'
import { readEtcdVersion } from '../../workers/probe/etcd.ts'
import type { PlanExecutor } from '../config/enactor.ts'
import { clusterFolder } from '../drivers/etcd-file.ts'
import type { WitnessSettings } from '../settings.ts'

/** The machine of a witness: of all that Fulcrum runs there is etcd only. */
export interface WitnessMachine {
  readonly executor: PlanExecutor
  /** What etcd says of its version; undefined where there is none. */
  readonly etcdSays: () => Promise<string | undefined>
  /** It goes on when the daemon ends, as a unit of its own. */
  readonly keepsEtcd: boolean
}

/**
 * Under systemd its etcd is the unit that nodes have; otherwise the daemon looks after it, as in a trial. Plans run in
 * the only thread that there is: another one takes some twenty megabytes, and nobody waits for an answer meanwhile.
 */
export function createWitnessMachine({ state, etcd, notify }: WitnessSettings): WitnessMachine {
  const keepsEtcd = notify.NOTIFY_SOCKET !== undefined
  const settings: HostSettings = {
    profile: keepsEtcd ? 'appliance' : 'trial',
    stateFolder: state,
    layer7proxy: { mode: 'systemd', masterSocket: '' },
    ...(keepsEtcd ? {} : { etcd: { program: etcd, folder: clusterFolder(state) } }),
  }
  const host = createHost(settings)
  return {
    executor: { execute: (steps) => executePlan(host, steps), check: (steps) => checkPlan(host, steps) },
    etcdSays: () => readEtcdVersion(settings),
    keepsEtcd,
  }
}
