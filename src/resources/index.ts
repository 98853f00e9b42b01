import type { Endpoint } from '../api/endpoint.ts'
import { takingWhatIsRead } from '../api/read-fields.ts'
import { returningWhatIsMade } from '../api/return-record.ts'
import { acmeAccounts } from './acme-accounts.ts'
import { acmeOrders } from './acme-orders.ts'
import { alertRules } from './alert-rules.ts'
import { alertTargets } from './alert-targets.ts'
import { alerts } from './alerts.ts'
import { apply } from './going-live/apply.ts'
import { auth } from './sign-in/auth.ts'
import { takingNames } from '../api/by-name.ts'
import { backups } from './backups.ts'
import { certificates } from './certificates.ts'
import { cipherLists } from './cipher-lists.ts'
import { cluster } from './cluster.ts'
import { clusterPair } from './cluster-pair.ts'
import { configDocument } from './going-live/config-document.ts'
import { conntrack } from './conntrack.ts'
import { dateTime } from './date-time.ts'
import { demo } from './demo.ts'
import { documents } from './documents.ts'
import { floatingIps } from './floating-ips.ts'
import { groups } from './groups.ts'
import { healthChecks } from './health-checks.ts'
import { interfaces } from './interfaces.ts'
import { ipGroups } from './ip-groups.ts'
import { ipRoutes } from './ip-routes.ts'
import { l4Backends } from './l4-backends.ts'
import { l4Frontends } from './l4-frontends.ts'
import { l4History } from './statistics/l4-history.ts'
import { l4Stats } from './statistics/l4-stats.ts'
import { l7Backends } from './l7-backends.ts'
import { l7Raw } from './l7-raw.ts'
import { l7Frontends } from './l7-frontends.ts'
import { statsStream } from './statistics/stream.ts'
import { l7History } from './statistics/l7-history.ts'
import { l7Stats } from './statistics/l7-stats.ts'
import { accessLogs } from './access-logs.ts'
import { account } from './account.ts'
import { accounts } from './accounts.ts'
import { loginPolicy } from './login-policy.ts'
import { localUsers } from './local-users.ts'
import { lvmSnapshots } from './lvm-snapshots.ts'
import { metrics } from './metrics.ts'
import { overview } from './overview.ts'
import { pending } from './going-live/pending.ts'
import { power } from './power.ts'
import { oidc } from './sign-in/oidc.ts'
import { radiusConfig } from './radius-config.ts'
import { radiusUsers } from './radius-users.ts'
import { realServers } from './real-servers.ts'
import { roles } from './roles.ts'
import { saml } from './sign-in/saml.ts'
import { services } from './services.ts'
import { snmpUsers } from './snmp-users.ts'
import { snmp } from './snmp.ts'
import { stickTables } from './stick-tables.ts'
import { staticIps } from './static-ips.ts'
import { audit } from './audit.ts'
import { events } from './events.ts'
import { jobs } from './jobs.ts'
import { revisions } from './revisions.ts'
import { syslogServer } from './syslog-server.ts'
import { systemProxy } from './system-proxy.ts'
import { transactions } from './transactions.ts'
import { updates } from './updates.ts'
import { userInterface } from './user-interface.ts'

/** The contract, one line per resource. */
const resources: readonly Endpoint[] = [
  ...auth,
  ...loginPolicy,
  ...saml,
  ...oidc,
  ...account,
  ...accounts,
  ...localUsers,
  ...groups,
  ...roles,
  ...realServers,
  ...healthChecks,
  ...l4Frontends,
  ...l4Backends,
  ...stickTables,
  ...l7Frontends,
  ...l7Backends,
  ...l7Raw,
  ...syslogServer,
  ...certificates,
  ...cipherLists,
  ...acmeOrders,
  ...acmeAccounts,
  ...apply,
  ...services,
  ...pending,
  ...transactions,
  ...cluster,
  ...clusterPair,
  ...ipGroups,
  ...staticIps,
  ...floatingIps,
  ...ipRoutes,
  ...interfaces,
  ...conntrack,
  ...systemProxy,
  ...dateTime,
  ...userInterface,
  ...snmp,
  ...snmpUsers,
  ...updates,
  ...lvmSnapshots,
  ...power,
  ...radiusConfig,
  ...radiusUsers,
  ...jobs,
  ...backups,
  ...revisions,
  ...audit,
  ...events,
  ...alerts,
  ...alertRules,
  ...alertTargets,
  ...metrics,
  ...overview,
  ...statsStream,
  ...l7Stats,
  ...l7History,
  ...accessLogs,
  ...l4Stats,
  ...l4History,
  ...documents,
  ...demo,
]

/** The whole table. The position of an endpoint is its number in compiled rights. */
export const endpoints: readonly Endpoint[] = takingWhatIsRead(
  returningWhatIsMade(takingNames([...resources, ...configDocument(resources)])),
)
