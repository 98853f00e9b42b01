import type { ConfigStore } from '../../storage/config/config-store.ts'
import type { SharedStore } from '../../storage/config/shared-store.ts'
import type { Audit } from '../audit/audit.ts'
import type { AccessControl } from '../auth/access.ts'
import type { MachineClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { ApplyEngine } from '../config/apply.ts'
import type { Editing } from '../config/editing.ts'
import type { Driver } from '../drivers/driver.ts'
import type { Events } from '../events/events.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { ApiListeners } from '../listeners/api-listeners.ts'
import type { AccessLogs } from '../logs/access-logs.ts'
import type { Machine } from '../machine/machine.ts'
import type { Membership } from '../membership/membership.ts'
import type { MachineFacts } from '../model/machine-facts.ts'
import type { ConfigView } from '../model/sections.ts'
import type { ObservedHaproxy } from '../observe/observed-haproxy.ts'
import type { Settings } from '../settings.ts'
import type { FulcrumAgent } from '../snmp/fulcrum-agent.ts'
import type { ArchiveThreadKeeper } from '../stats/archive-thread.ts'
import type { Layer4Stats } from '../stats/layer4-stats.ts'
import type { Layer7Stats } from '../stats/layer7-stats.ts'
import type { ObjectNames } from '../stats/names.ts'
import type { ComputePool } from '../threads/worker-pool.ts'
import type { NameServersHere } from '../watches/name-servers.ts'
import type { SharingHere } from '../watches/sharing-upkeep.ts'

/** The parts that exist before anything is built on them. */
export interface Ground {
  readonly settings: Settings
  readonly stateFolder: string
  readonly machine: Machine
  readonly facts: MachineFacts
  readonly compute: ComputePool
  readonly store: ConfigStore & SharedStore
  readonly running: ConfigView
  readonly candidate: ConfigView
  readonly drivers: readonly Driver[]
  /** Returns the id of the node by the running configuration. */
  readonly identity: () => string
  /** The id when this daemon started. */
  readonly nodeId: string
  /** The id before the node assumed another identity; configurations that name no node mean this one. */
  readonly born: string
  /** Returns the nodes of the cluster in the order in which they joined; empty without a cluster. */
  readonly nodeIds: () => readonly string[]
  /** The nodes with which HAProxy shares its stick tables. */
  readonly sharing: SharingHere
  /** The name servers that HAProxy asks for host names. */
  readonly nameServers: NameServersHere
  readonly clock: MachineClock
  readonly log: Log
}

/** The parts that exist once per node. Each capability is created from some of them. */
export interface Node extends Ground {
  readonly access: AccessControl
  readonly accessLogs: AccessLogs
  readonly archives: ArchiveThreadKeeper
  readonly audit: Audit
  readonly editing: Editing
  readonly engine: ApplyEngine
  readonly events: Events
  readonly jobs: Jobs
  readonly layer4: Layer4Stats
  readonly layer7: Layer7Stats
  readonly listeners: ApiListeners
  readonly membership: Membership
  /** The names of the objects of each layer in the figures. */
  readonly names: { readonly layer7: ObjectNames; readonly layer4: ObjectNames }
  /** The HAProxy that is only watched, when this daemon has none of its own. */
  readonly observed: ObservedHaproxy | undefined
  readonly snmp: FulcrumAgent
}

/** A piece of the running daemon. */
export interface Part {
  start?(): unknown
  close?(): unknown
}
