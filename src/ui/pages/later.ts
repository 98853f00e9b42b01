import { AccountPage } from './account.tsx'
import { AlertsPage } from './alerts.tsx'
import { CertificatesPage } from './certificates.tsx'
import { ChangesPage } from './changes.tsx'
import { ClusterPage } from './cluster.tsx'
import { NodePage } from './node.tsx'
import { OperationsPage } from './operations.tsx'
import { TrafficPage } from './traffic.tsx'

/**
 * Pages that are fetched when one of them is first opened. They are one file: what each of many files shared with the
 * first screen would be a file of its own, and a browser fetches six at a time, each over a connection of its own.
 */
export const LATER_PAGES = {
  account: AccountPage,
  alerts: AlertsPage,
  certificates: CertificatesPage,
  changes: ChangesPage,
  cluster: ClusterPage,
  node: NodePage,
  operations: OperationsPage,
  traffic: TrafficPage,
} as const
