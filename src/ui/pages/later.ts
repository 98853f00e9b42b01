/**
 * Pages that are fetched when one of them is first opened. They are one file: what each of many files shared with the
 * first screen would be a file of its own, and a browser fetches six at a time, each over a connection of its own.
 */
export { AccountPage as account } from './account.tsx'
export { AlertsPage as alerts } from './alerts.tsx'
export { CertificatesPage as certificates } from './certificates.tsx'
export { ChangesPage as changes } from './changes.tsx'
export { ClusterPage as cluster } from './cluster.tsx'
export { NodePage as node } from './node.tsx'
export { OperationsPage as operations } from './operations.tsx'
export { TrafficPage as traffic } from './traffic.tsx'
