import { chronyDriver } from './chrony/driver.ts'
import { conntrackDriver } from './conntrack/driver.ts'
import type { Driver } from './driver.ts'
import { egressProxyDriver, egressProxyPaths } from './egress-proxy/driver.ts'
import { haproxyDriver, type HaproxySurroundings } from './haproxy/driver.ts'
import { onOwnLoopback } from './haproxy/own-loopback.ts'
import type { HaproxyPaths } from './haproxy/paths.ts'
import { networkDriver } from './iproute2/driver.ts'
import { keepalivedDriver } from './keepalived/driver.ts'
import { snmpdDriver } from './snmpd/driver.ts'
import { sshdDriver } from './sshd/driver.ts'
import { timedateDriver } from './timedate/driver.ts'
import { vrrpDriver } from './vrrp/driver.ts'
import { webuiDriver } from './webui/driver.ts'

export interface DriverPaths {
  readonly haproxy: HaproxyPaths
  /** Folder for the daemon's own data. */
  readonly stateFolder: string
  /** For a node that shares its machine with others: its address in place of 127.0.0.1. */
  readonly loopback?: string | undefined
  /** Port of the API, unless configured. */
  readonly apiPort?: number
}

/**
 * The drivers of one node, in the order in which plans are made and carried out. `nodeIds` are the nodes of its cluster
 * in order of precedence; none without a cluster. `surroundings`: see `haproxyDriver`.
 */
export function createDrivers(
  paths: DriverPaths,
  nodeId: string,
  nodeIds: () => readonly string[] = () => [],
  surroundings?: () => HaproxySurroundings,
): readonly Driver[] {
  const haproxy = haproxyDriver(paths.haproxy, surroundings)
  return [
    networkDriver(nodeId, nodeIds),
    // Before the programs that listen on addresses of other nodes.
    vrrpDriver(nodeId, nodeIds),
    paths.loopback === undefined ? haproxy : onOwnLoopback(haproxy, paths.loopback),
    keepalivedDriver(nodeId),
    conntrackDriver(nodeId),
    timedateDriver(nodeId),
    chronyDriver(nodeId),
    egressProxyDriver(nodeId, egressProxyPaths(paths.stateFolder)),
    webuiDriver(nodeId, paths.apiPort),
    sshdDriver(nodeId),
    snmpdDriver(nodeId),
  ]
}
