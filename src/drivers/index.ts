import type { Driver } from './driver.ts'
import { haproxyDriver } from './haproxy/driver.ts'
import type { HaproxyPaths } from './haproxy/paths.ts'

export interface DriverPaths {
  readonly haproxy: HaproxyPaths
}

/** Everything that is managed on one node, in the order in which plans are made and carried out. */
export function createDrivers(paths: DriverPaths, _nodeId: string): readonly Driver[] {
  return [haproxyDriver(paths.haproxy)]
}
