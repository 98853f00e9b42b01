import { join } from 'node:path'
import { Alerts } from '../alerts/alerts.ts'
import { type ClusterTrouble, type Ending, NodeConditions } from '../alerts/node-conditions.ts'
import { apiCertificate } from '../listeners/own-certificate.ts'
import { chosenCertificate } from '../listeners/lent-certificate.ts'
import { certificatesIn } from '../watches/certificate-watch.ts'
import type { Node } from './node.ts'

export function createAlerts(node: Node): Alerts {
  const { layer4, layer7, machine, settings } = node
  const layers = [
    { layer: 7 as const, live: layer7.live },
    // A daemon that only watches a HAProxy reads nothing of the kernel's.
    ...(settings.observe === undefined ? [{ layer: 4 as const, live: layer4.live }] : []),
  ]
  const conditions = new NodeConditions({
    ...node,
    certificates: () => endingsOf(node),
    cluster: () => troubleOf(node),
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
    isSpeaker: () => isSpeaker(node),
  })
}

/** Its own counts while the API shows it. */
function endingsOf({ running, nodeId, stateFolder }: Node): readonly Ending[] {
  const ids = new Map([...running.list('certificates')].map(({ id, name }) => [name, id]))
  const own = chosenCertificate(running, nodeId) === undefined ? apiCertificate(join(stateFolder, 'tls')) : []
  return [
    ...own.map((one) => ({ ...one, id: `api-${nodeId}` })),
    ...certificatesIn(running).map((one) => ({ ...one, id: ids.get(one.name) ?? one.fingerprint })),
  ]
}

/**
 * What is the cluster's is told by the first of its nodes, in the order in which they joined, that is reached; whoever
 * has no majority leaves it to the others.
 */
function isSpeaker({ membership, born }: Node): boolean {
  const { cluster, members } = membership
  if (cluster === undefined) return true
  if (!cluster.hasQuorum) return false
  const bySince = members.all().toSorted((a, b) => a.since.localeCompare(b.since) || a.id.localeCompare(b.id))
  return bySince.find(({ id }) => id === born || cluster.isReachable(id))?.id === born
}

function troubleOf({ membership, born }: Node): readonly ClusterTrouble[] {
  const { cluster, members } = membership
  if (cluster === undefined) return []
  const own = { id: born, name: members.get(born)?.name ?? born }
  const quorum = {
    object: { type: 'quorum', ...own },
    text: `node ${own.name} has no majority: nothing can be changed`,
  }
  const others = members
    .all()
    .filter(({ id }) => id !== born && !cluster.isReachable(id))
    .map(({ id, name }) => ({ object: { type: 'node', id, name }, text: `node ${name} is not reached` }))
  const { witness } = members
  const lost =
    witness === undefined || cluster.isReachable(witness.id)
      ? []
      : [
          {
            object: { type: 'witness', id: witness.id, name: witness.name },
            text: `the witness ${witness.name} is not reached`,
          },
        ]
  return [...(cluster.hasQuorum ? [] : [quorum]), ...others, ...lost]
}
