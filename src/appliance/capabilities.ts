import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { catalogOf } from '../api/access.ts'
import { Documents } from '../api/documents.ts'
import { radiusProbe } from '../auth/radius-test.ts'
import { AutomaticBackups } from '../backup/automatic.ts'
import { Backups } from '../backup/backups.ts'
import { createRestoreChecks } from '../backup/restore-check.ts'
import { leavesRoom } from '../base/spare-room.ts'
import { VERSION } from '../base/version.ts'
import { Applying, isAppliedHere } from '../config/applying.ts'
import { createPending } from '../config/pending.ts'
import { Plans } from '../config/plans.ts'
import { configView } from '../config/views.ts'
import { Revisions } from '../config/revisions.ts'
import { createTransacting } from '../config/transacting.ts'
import { Transactions } from '../config/transactions.ts'
import type { Whole } from '../context/capabilities.ts'
import { scriptFile, SCRIPTS_FOLDER } from '../health-checks/script-files.ts'
import { createStickTables } from '../ipvs/stick-tables.ts'
import { createDrains } from '../jobs/drain.ts'
import { createConsole } from '../machine/console-access.ts'
import { Power } from '../machine/power.ts'
import { createClock } from '../machine/set-clock.ts'
import { Snapshots } from '../machine/snapshots.ts'
import type { NodeUpdate } from '../machine/updates/node-update.ts'
import { Units } from '../machine/units.ts'
import { Updates } from '../machine/updates/updates.ts'
import { Addresses, type AddressesParts } from '../membership/addresses.ts'
import { APPLIED, askAll, type AskingAll, LAYER_4 } from '../membership/all-nodes.ts'
import { Departure } from '../membership/departure.ts'
import { holders } from '../membership/holders.ts'
import { createInterfaces } from '../membership/interfaces.ts'
import { Maintenance } from '../membership/maintenance.ts'
import { createNodeFacts, ownFacts } from '../membership/node-facts.ts'
import { Pair } from '../membership/pair.ts'
import { endpoints } from '../resources/index.ts'
import { OidcLogins } from '../sso/oidc-logins.ts'
import { SamlLogins } from '../sso/saml-logins.ts'
import { healthOver } from '../stats/health.ts'
import { isLayer4Told, Layer4OfNodes, type Layer4Told } from '../stats/layer4-of-nodes.ts'
import { createAcme, createCertificates } from './acme.ts'
import { createAlerts } from './alerts.ts'
import { Demo } from './demo.ts'
import { createFloating } from './floating.ts'
import type { Node, Part } from './node.ts'
import { connectionsOfNodes } from './open-connections.ts'
import { createRolling, standingOf } from './rolling.ts'
import { createWatching } from './watching.ts'

export interface Made {
  readonly capabilities: Whole
  readonly transactions: Transactions
  readonly automatic: AutomaticBackups
  readonly demo: Demo
  /** This node's answers about its floating IPs, and the calls that give them away. */
  readonly here: AddressesParts['here']
  /** This node's part in an update of all nodes. */
  readonly shareOf: Updates['shareOf']
  /** The parts that run on their own, in the order in which they start. */
  readonly parts: readonly Part[]
}

/** Creates each capability. A new one is a line in the list, and a line in `Capabilities`. */
export function createCapabilities(node: Node): Made {
  const { clock, layer4 } = node
  const asking = { self: node.born, membership: node.membership }
  const transactions = new Transactions(node.store, clock, node.log, holders(node))
  const isAtWork = () => power.isGoingDown || node.jobs.running('packages') !== undefined
  const { cluster, members, maintenance, addresses, departure, here, ...floating } = createDeparture(node, isAtWork)
  const power = new Power({ ...node, departure })
  const snapshots = new Snapshots({ ...node, power })
  const updates = new Updates({ ...node, power, departure, snapshots, standing: () => standingOf(node) })
  const rolling = createRolling(node, updates, addresses)
  const backups = new Backups({ ...node, agreed: configView(node.store.agreed), leavesRoom, version: VERSION })
  const automatic = new AutomaticBackups({ ...node, backups })
  const drains = createDrains({ ...node, connections: (ripId) => connectionsOfNodes(node, asking, ripId) })
  const watching = createWatching(node, here)
  const restoreChecks = createRestoreChecks(node)
  const demo = new Demo(node)
  const { acme, orders, validations } = createAcme(node)
  const alerts = createAlerts(node)
  const applied = { path: APPLIED, isAnswer: isAppliedHere, lost: () => undefined }
  const capabilities: Whole = {
    ...ofNode(node),
    acme,
    addresses,
    alerts,
    applying: new Applying({ ...node, transactions, askOthers: () => askAll(asking, applied) }),
    backups,
    demo,
    drains,
    layer4: { history: layer4.history, live: createLayer4OfNodes(node, asking) },
    maintenance,
    pair: new Pair({ cluster, members }),
    power,
    restoreChecks,
    rolling,
    snapshots,
    transactions: createTransacting({ ...node, transactions }),
    units: node.observed?.units ?? new Units({ ...node, updates }),
    updates,
    ...watching,
  }
  // Jobs that an earlier run of the daemon left unfinished are resumed before their leftovers are tidied up.
  const kinds = [restoreChecks, drains, updates, rolling, snapshots].flatMap((one) => one.kinds)
  const tidied = { start: () => updates.tidy(), close: () => updates.close() }
  const own = [
    node.accessLogs,
    snapshots,
    power,
    maintenance,
    automatic,
    transactions,
    orders,
    ...validations,
    alerts,
    watching.figureStreams,
  ]
  const parts = [{ start: () => node.jobs.resume(kinds) }, tidied, ...own, ...floating.parts]
  const shareOf = (update: NodeUpdate) => updates.shareOf(update)
  return { capabilities, transactions, automatic, demo, here, shareOf, parts }
}

/** Creates the capabilities that need only the node. */
function ofNode(node: Node) {
  const { access, layer4, layer7 } = node
  return {
    accessLogs: node.accessLogs,
    accounts: access.account,
    audit: node.audit,
    catalog: catalogOf(endpoints),
    certificates: createCertificates(node),
    clock: createClock(node),
    cluster: node.membership,
    console: createConsole(node),
    documents: new Documents(endpoints, VERSION),
    events: node.events,
    health: healthOver([layer7.live, layer4.live]),
    history: layer7.history,
    interfaces: createInterfaces(node),
    jobs: node.jobs,
    live: layer7.live,
    login: access.login,
    machine: node.facts,
    nodeFacts: createNodeFacts({ ...node, own: ownFacts(node) }),
    oidc: new OidcLogins({ ...node, login: access.login, allowsLoopback: node.settings.profile === 'trial' }),
    passwords: access.hashing,
    pending: createPending(node),
    plans: new Plans(node),
    radius: radiusProbe(node),
    revisions: new Revisions(node.store),
    scripts: { find: (name: string) => scriptFile(join(node.stateFolder, SCRIPTS_FOLDER), name) },
    sessions: access.sessions,
    sso: new SamlLogins({ ...node, login: access.login }),
    stickTables: createStickTables(node),
  }
}

/** Creates the parts that move this node's duties to other nodes. */
function createDeparture(node: Node, isAtWork: () => boolean) {
  const { members } = node.membership
  const cluster = () => node.membership.cluster
  const wait = (ms: number) => sleep(ms, undefined, { ref: false })
  const maintenance = new Maintenance({ ...node, cluster, members, isAtWork, wait })
  const { here, parts } = createFloating(node, {
    isLeaving: () => isAtWork() || members.get(node.nodeId)?.maintenance !== undefined,
    isRemoved: () => cluster()?.removal !== undefined,
    hasReadyOther: () => addresses.hasReadyOther(),
  })
  const addresses = new Addresses({ ...node, here, wait })
  const departure = new Departure({ ...node, cluster, members, maintenance, addresses })
  return { cluster, members, maintenance, addresses, departure, here, parts }
}

function createLayer4OfNodes({ layer4, membership, clock }: Node, asking: AskingAll): Layer4OfNodes {
  const question = { path: LAYER_4, isAnswer: isLayer4Told, lost: (problem: string): Layer4Told => ({ problem }) }
  return new Layer4OfNodes({
    nodeId: asking.self,
    own: layer4.live,
    hasOthers: () => membership.hasOthers,
    askOthers: () => askAll(asking, question),
    clock,
  })
}
