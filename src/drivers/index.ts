import type { Driver } from './driver.ts'
import { haproxyDriver } from './haproxy/driver.ts'
import type { HaproxyPaths } from './haproxy/paths.ts'

export interface DriverPaths {
  readonly haproxy: HaproxyPaths
}

/** Every managed program, in the order in which plans are made and carried out. */
export function createDrivers(paths: DriverPaths): readonly Driver[] {
  return [haproxyDriver(paths.haproxy)]
}
