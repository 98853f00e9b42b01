/** A program that this daemon manages as a unit of systemd: everything that is said of it once. */
export interface Program {
  /** For people, in /services. */
  readonly fullName: string
  readonly unit: string
  /** Debian package, which can be updated from here. */
  readonly package: string
  /** Commands of that package that drivers and reads of the machine run. */
  readonly commands: readonly string[]
  /** Takes a new configuration without stopping. */
  readonly canReload: boolean
}

/** Programs by their name in /services, if they are listed there, in the order of that list. */
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
  /** Part of a cluster; it starts and ends with the membership, so it is no service for people. */
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
