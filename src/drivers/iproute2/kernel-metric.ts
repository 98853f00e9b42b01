import type { DesiredRoute } from '../host.ts'
import { familyOf } from '../../base/ip-network.ts'

/** The kernel's value for an IPv6 route without a metric; 0 is not allowed there. */
const METRIC_6 = 1024

/** Returns the metric of a route in the kernel. */
export function kernelMetric({ destination, metric = 0 }: Pick<DesiredRoute, 'destination' | 'metric'>): number {
  return metric === 0 && familyOf(destination) === 6 ? METRIC_6 : metric
}

/** Returns the metric of the kernel's own route to the network of an address. */
export const connectedMetric = (network: string): number => (familyOf(network) === 6 ? 256 : 0)
