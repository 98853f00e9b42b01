import type { DesiredRoute } from '../host.ts'
import { familyOf } from '../../base/ip-network.ts'

/** What the kernel gives an IPv6 route without a metric; there 0 is none. */
const METRIC_6 = 1024

/** The metric that a route has in the kernel. */
export function kernelMetric({ destination, metric = 0 }: Pick<DesiredRoute, 'destination' | 'metric'>): number {
  return metric === 0 && familyOf(destination) === 6 ? METRIC_6 : metric
}

/** The metric of the route that the kernel makes for the network of an address. */
export const connectedMetric = (network: string): number => (familyOf(network) === 6 ? 256 : 0)
