import { AccountPage } from './account.tsx'
import { AlertsPage } from './alerts.tsx'
import { CertificatesPage } from './certificates.tsx'
import { ChangesPage } from './changes.tsx'
import { ClusterPage } from './cluster.tsx'
import { NodePage } from './node.tsx'
import { OperationsPage } from './operations.tsx'
import { TrafficPage } from './traffic.tsx'

/**
 * Pages that are loaded when one of them is first opened. They are bundled into one file: separate files would need
 * further files for the code they share with the first screen, and a browser fetches six at a time, each over its own
 * connection.
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
