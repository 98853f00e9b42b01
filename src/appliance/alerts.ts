import { join } from 'node:path'
import { Alerts } from '../alerts/alerts.ts'
import { type ClusterView, isSpeaker, troubleOf } from '../alerts/cluster-view.ts'
import { type Ending, NodeConditions } from '../alerts/node-conditions.ts'
import { apiCertificate } from '../listeners/own-certificate.ts'
import { chosenCertificate } from '../listeners/lent-certificate.ts'
import { certificatesIn, clientAuthoritiesIn } from '../watches/certificate-watch.ts'
import type { Node } from './node.ts'

export function createAlerts(node: Node): Alerts {
  const { layer4, layer7, machine, settings } = node
  const layers = [
    { layer: 7 as const, live: layer7.live },
    // A daemon that only watches a HAProxy reads no figures of the kernel.
    ...(settings.observe === undefined ? [{ layer: 4 as const, live: layer4.live }] : []),
  ]
  const conditions = new NodeConditions({
    ...node,
    certificates: () => endingsOf(node),
    cluster: () => troubleOf(viewOf(node)),
  })
  return new Alerts({
    ...node,
    conditions,
    layers: layers.map(({ layer, live }) => ({
      layer,
      names: live.names,
      scan: (watched, found) => live.scan(watched, found),
    })),
    send: (sending) => machine.alerts.run('deliver', sending),
    allowsLoopback: settings.profile === 'trial',
    allowed: settings.alertsTo,
    isSpeaker: () => isSpeaker(viewOf(node)),
  })
}

/** Returns the certificates with their ends; the node's own counts only while the API presents it. */
function endingsOf({ running, nodeId, stateFolder }: Node): readonly Ending[] {
  const ids = new Map([...running.list('certificates')].map(({ id, name }) => [name, id]))
  const own = chosenCertificate(running, nodeId) === undefined ? apiCertificate(join(stateFolder, 'tls')) : []
  return [
    ...own.map((one) => ({ ...one, id: `api-${nodeId}` })),
    ...certificatesIn(running).map((one) => ({ ...one, id: ids.get(one.name) ?? one.fingerprint })),
    ...clientAuthoritiesIn(running).map((one) => ({
      ...one,
      id: `ca-${one.fingerprint.replaceAll(':', '').slice(0, 40)}`,
    })),
  ]
}

/** Returns this node's view of the cluster; undefined without one. */
function viewOf({ membership, born }: Node): ClusterView | undefined {
  const { cluster, members } = membership
  if (cluster === undefined) return undefined
  return {
    self: born,
    hasQuorum: cluster.hasQuorum,
    nodes: members.all(),
    witness: members.witness,
    isReachable: (id) => cluster.isReachable(id),
  }
}
