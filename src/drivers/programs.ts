/** Everything about a program that this daemon manages as a systemd unit, in one place. */
export interface Program {
  /** Name for people, in /services. */
  readonly fullName: string
  readonly unit: string
  /** Debian package, which can be updated through the daemon. */
  readonly package: string
  /** Commands of that package that drivers and readings of the machine run. */
  readonly commands: readonly string[]
  /** Whether it reads a new configuration without stopping. */
  readonly canReload: boolean
}

/** Programs by their name in /services, in the order of that list; some are not listed there. */
export const PROGRAMS = {
  layer7proxy: {
    fullName: 'Layer 7 load balancer (HAProxy)',
    unit: 'haproxy.service',
    package: 'haproxy',
    commands: ['haproxy'],
    canReload: true,
  },
  ipvsDirector: {
    fullName: 'Layer 4 load balancer (keepalived, IPVS)',
    unit: 'keepalived.service',
    package: 'keepalived',
    commands: ['keepalived'],
    canReload: true,
  },
  clusterha: {
    fullName: 'High availability of floating IPs (keepalived, VRRP)',
    unit: 'fulcrum-vrrp.service',
    package: 'keepalived',
    commands: ['keepalived'],
    canReload: true,
  },
  /** Part of a cluster: etcd starts and ends with the membership, so it is no service for people. */
  etcd: {
    fullName: 'Log of the cluster (etcd)',
    unit: 'fulcrum-etcd.service',
    package: 'etcd-server',
    commands: ['etcd'],
    canReload: false,
  },
  ntp: {
    fullName: 'Clock synchronisation (chrony)',
    unit: 'chrony.service',
    package: 'chrony',
    commands: ['chronyc', 'chronyd'],
    canReload: true,
  },
  ssh: {
    fullName: 'Remote shell (OpenSSH)',
    unit: 'ssh.service',
    package: 'openssh-server',
    commands: ['sshd'],
    canReload: true,
  },
  snmp: {
    fullName: 'SNMP agent (snmpd)',
    unit: 'snmpd.service',
    package: 'snmpd',
    commands: ['snmpd'],
    canReload: true,
  },
} as const satisfies Readonly<Record<string, Program>>
