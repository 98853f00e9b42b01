/** Numbers of IPVS's generic netlink interface (linux/ip_vs.h), as far as they are used. */
export const IPVS_FAMILY = 'IPVS'
export const IPVS_VERSION = 1
export const COMMAND = { newService: 1, getService: 4, newDest: 5, getDest: 8 } as const
export const COMMAND_ATTRIBUTE = { service: 1, dest: 2 } as const

export const SERVICE = {
  family: 1,
  protocol: 2,
  address: 3,
  port: 4,
  mark: 5,
  scheduler: 6,
  flags: 7,
  timeout: 8,
  netmask: 9,
  /** The lower 32 bits of 64-bit counters: never read. */
  stats32: 10,
  stats: 12,
} as const

export const DEST = {
  address: 1,
  port: 2,
  forwarding: 3,
  weight: 4,
  upperThreshold: 5,
  lowerThreshold: 6,
  active: 7,
  inactive: 8,
  persistent: 9,
  stats32: 10,
  family: 11,
  stats: 12,
} as const

/** Attributes 1 to 10 of the statistics: five totals, then their rates per second. */
export const STATS = ['connections', 'packetsIn', 'packetsOut', 'bytesIn', 'bytesOut'] as const
export const TOTAL_COUNT = STATS.length
export const STATS_COUNT = TOTAL_COUNT * 2

export const FORWARDING = { masq: 0, local: 1, ipip: 2, gate: 3 } as const
export const FORWARDING_MASK = 7
export const PERSISTENT = 1

/** Marks the identity of a service by firewall mark instead of address and port. */
export const MARK_BIT = 1 << 16

export const AF_INET = 2
export const AF_INET6 = 10
export const PROTOCOL = { tcp: 6, udp: 17 } as const

/** The controller of generic netlink, which knows the numbers of families. */
export const CONTROLLER = { type: 16, getFamily: 3, newFamily: 1, version: 1, familyId: 1, familyName: 2 } as const
