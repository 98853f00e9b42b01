import { checkPlan, executePlan } from '../../workers/executor.ts'
import { createHost } from '../../workers/host/create-host.ts'
import type { HostSettings } from '../../workers/host/host-settings.ts'
import { readEtcdVersion } from '../../workers/probe/etcd.ts'
import type { PlanExecutor } from '../config/enactor.ts'
import { clusterFolder } from '../drivers/etcd-file.ts'
import type { WitnessSettings } from '../settings.ts'

/** The machine of a witness, which runs no program of Fulcrum's except etcd. */
export interface WitnessMachine {
  readonly executor: PlanExecutor
  /** Returns the version that etcd reports; undefined if it is not installed. */
  readonly etcdSays: () => Promise<string | undefined>
  /** Whether etcd is a unit of its own, which continues when the daemon ends. */
  readonly keepsEtcd: boolean
}

/**
 * Creates the machine of a witness. Under systemd its etcd is the same unit as on nodes; otherwise the daemon
 * supervises it, as in a trial. Plans run in the main thread: another thread takes some 20 MB, and no request waits
 * here.
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
