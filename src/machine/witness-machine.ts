import type { HostSettings } from '../../workers/host/host-settings.ts'
import type { PlanExecutor } from '../config/enactor.ts'
import { clusterFolder } from '../drivers/etcd-file.ts'
import type { WitnessSettings } from '../settings.ts'
import { probePool, systemPool } from '../threads/worker-pool.ts'

/** The machine of a witness: of all that Fulcrum runs there is etcd only. */
export interface WitnessMachine {
  readonly executor: PlanExecutor
  /** What etcd says of its version; undefined where there is none. */
  readonly etcdSays: () => Promise<string | undefined>
  /** It goes on when the daemon ends, as a unit of its own. */
  readonly keepsEtcd: boolean
  close(): Promise<void>
}

/** Under systemd its etcd is the unit that nodes have; otherwise the daemon looks after it, as in a trial. */
export function createWitnessMachine({ state, etcd, notify }: WitnessSettings): WitnessMachine {
  const keepsEtcd = notify.NOTIFY_SOCKET !== undefined
  const host: HostSettings = {
    profile: keepsEtcd ? 'appliance' : 'trial',
    stateFolder: state,
    layer7proxy: { mode: 'systemd', masterSocket: '' },
    ...(keepsEtcd ? {} : { etcd: { program: etcd, folder: clusterFolder(state) } }),
  }
  const [system, probes] = [systemPool(host), probePool(host)]
  return {
    executor: {
      execute: (steps) => system.run('executePlan', { steps }),
      check: (steps) => system.run('checkPlan', { steps }),
    },
    etcdSays: () => probes.run('etcd', undefined),
    keepsEtcd,
    async close() {
      await Promise.all([system.close(), probes.close()])
    },
  }
}
