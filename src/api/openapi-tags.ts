import type { Json } from './openapi-responses.ts'

/** The tags of the document, which are the resources, grouped for its readers. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Logging in': {
    auth: 'Logging in and out, and a check whether the API answers.',
    account: 'The caller’s own account: password, second factor, sessions, tokens.',
    sessions: 'Sessions of all users.',
    apiTokens: 'API tokens of all users.',
    secondFactors: 'Second factors of other users, for resetting a lost one.',
    loginPolicy: 'Requirements for all logins.',
    saml: 'Logins through an identity provider, by SAML.',
    oidc: 'Logins through an identity provider, by OpenID Connect.',
  },
  'Users and rights': {
    localUsers: 'Users stored on the appliance.',
    groups: 'Groups of users.',
    roles: 'Endpoints that users and groups may call.',
    radiusConfig: 'RADIUS servers that authenticate users.',
    radiusUsers: 'Users who have logged in through RADIUS.',
  },
  Balancing: {
    realServers: 'Servers that receive the traffic, for both layers.',
    healthChecks: 'Scripts that check whether a real server works.',
    l4Frontends: 'Addresses that clients connect to on Layer 4 (IPVS).',
    l4Backends: 'Groups of real servers on Layer 4.',
    l7Frontends: 'Addresses that clients connect to on Layer 7 (HAProxy).',
    l7Backends: 'Groups of real servers on Layer 7.',
    l7Raw: 'HAProxy lines for settings without a field of their own.',
    stickTables: 'Persistence of clients on real servers.',
  },
  Certificates: {
    certificates: 'Certificates with their keys.',
    cipherLists: 'Ciphers that frontends offer, in order of preference.',
    ciphers: 'Available ciphers.',
    acmeOrders: 'Certificates issued and automatically renewed by a CA.',
    acmeAccounts: 'Accounts at CAs.',
  },
  'Going live': {
    services: 'Pending changes, applying them, and the managed services.',
    transactions: 'Changes that are staged all or none.',
    config: 'The configuration as one document.',
    revisions: 'Applied configurations, and restoring them.',
    backups: 'Creating and restoring backups.',
  },
  Figures: {
    l7Stats: 'Live figures of Layer 7.',
    l7History: 'Past figures of Layer 7.',
    l4Stats: 'Live figures of Layer 4, of all nodes.',
    l4History: 'Past figures of Layer 4.',
    l4NodeHistory: 'Past figures of Layer 4, of one node.',
    accessLogs: 'Logs of individual requests.',
    syslogServer: 'Syslog server for access logs.',
    stats: 'Live figures of both layers, as a stream.',
    metrics: 'Figures for Prometheus and compatible collectors.',
    overview: 'Overview in one answer.',
  },
  'Events and alerts': {
    jobs: 'Long operations that continue after the answer.',
    events: 'Live stream of events.',
    audit: 'Log of all operations by users.',
    alerts: 'Alerts, and the delivery of their messages.',
    alertRules: 'Conditions for alerts.',
    alertTargets: 'Receivers of alerts: by mail, webhook, chat, syslog or SNMP.',
    alertSilences: 'Temporary suppression of alerts.',
  },
  'The machine': {
    cluster: 'Nodes with a shared configuration.',
    ipGroups: 'Subnets, with the interface of each node.',
    staticIps: 'Addresses of one node.',
    floatingIps: 'Addresses that move between nodes.',
    ipRoutes: 'Routes of the kernel.',
    interfaces: 'Network interfaces.',
    conntrack: 'The kernel’s table of connections.',
    dateTime: 'Clock, time zone and NTP.',
    systemProxy: 'Proxy for downloads.',
    userInterface: 'API address, sshd and console access.',
    snmp: 'The SNMP agent.',
    snmpUsers: 'Users of SNMP v3.',
    updates: 'Packages and major versions.',
    lvmSnapshots: 'Snapshots of the root volume.',
    power: 'Shutdown and restart.',
    documents: 'This document, and the page that shows it.',
    demo: 'The demonstration of the trial profile.',
  },
}
const OTHERS = 'Everything else'

/** Returns the descriptions of these tags, and their groups; a tag without a group is in the last one. */
export function describedTags(names: readonly string[]): {
  readonly tags: readonly Json[]
  readonly 'x-tagGroups': readonly Json[]
} {
  const known = new Map(Object.values(GROUPS).flatMap((group) => Object.entries(group)))
  const groups = Object.entries(GROUPS).map(([name, group]) => ({ name, tags: names.filter((tag) => tag in group) }))
  const others = { name: OTHERS, tags: names.filter((tag) => !known.has(tag)) }
  return {
    tags: names.map((name) => (known.has(name) ? { name, description: known.get(name) } : { name })),
    'x-tagGroups': [...groups, others].filter(({ tags }) => tags.length > 0),
  }
}
