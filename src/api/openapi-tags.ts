import type { Json } from './openapi-responses.ts'

/** The tags of the document, which are the resources, grouped for its readers. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Logging in': {
    auth: 'Logging in and out, and whether the API answers at all.',
    account: 'What people do to their own account: password, second factor, sessions, tokens.',
    sessions: 'Who is logged in.',
    apiTokens: 'Tokens of programs.',
    secondFactors: 'Second factors of others, for when one is lost.',
    loginPolicy: 'What is asked of everybody who logs in.',
    saml: 'Logins that an identity provider vouches for, by SAML.',
    oidc: 'The same by OpenID Connect.',
  },
  'Who may do what': {
    localUsers: 'Users that are kept here.',
    groups: 'Groups of users.',
    roles: 'Which endpoints users and groups may call.',
    radiusConfig: 'RADIUS servers that vouch for users.',
    radiusUsers: 'Users who have logged in through RADIUS.',
  },
  Balancing: {
    realServers: 'The servers that take the traffic, of both layers.',
    healthChecks: 'Scripts that tell whether a real server works.',
    l4Frontends: 'What clients connect to on Layer 4 (IPVS).',
    l4Backends: 'Groups of real servers on Layer 4.',
    l7Frontends: 'What clients connect to on Layer 7 (HAProxy).',
    l7Backends: 'Groups of real servers on Layer 7.',
    l7Raw: 'Lines of HAProxy for what no field is there.',
    stickTables: 'Which client stays with which real server.',
  },
  Certificates: {
    certificates: 'Certificates with their keys.',
    cipherLists: 'Ciphers that frontends offer, in order.',
    ciphers: 'Ciphers that there are.',
    acmeOrders: 'Certificates that a CA issues and renews by itself.',
    acmeAccounts: 'Accounts at a CA.',
  },
  'Going live': {
    services: 'What is pending, and applying it; the programs behind it.',
    transactions: 'Changes that are staged together or not at all.',
    config: 'The configuration as one document.',
    revisions: 'Configurations that have run, and the way back.',
    backups: 'Backups and what of them is restored.',
  },
  Figures: {
    l7Stats: 'Live figures of Layer 7.',
    l7History: 'Past figures of Layer 7.',
    l4Stats: 'Live figures of Layer 4, of all nodes.',
    l4History: 'Past figures of Layer 4.',
    l4NodeHistory: 'Past figures of Layer 4, of one node.',
    accessLogs: 'Requests, one by one.',
    syslogServer: 'Where access logs are sent as well.',
    stats: 'Live figures of both layers, as a stream.',
    metrics: 'Figures for Prometheus and its kin.',
    overview: 'The first screen in one answer.',
  },
  'What happens': {
    jobs: 'Long work that goes on after its request was answered.',
    events: 'What happens, as it does.',
    audit: 'Who did what.',
    alerts: 'What somebody has to hear of, and what became of the messages.',
    alertRules: 'What alerts are raised for.',
    alertTargets: 'Who is told: by mail, webhook, chat, syslog or SNMP.',
    alertSilences: 'What nobody is to be told of for a while.',
  },
  'The machine': {
    cluster: 'Nodes that are configured as one.',
    ipGroups: 'Subnets, with the interface of each node.',
    staticIps: 'Addresses of one node.',
    floatingIps: 'Addresses that move between nodes.',
    ipRoutes: 'Routes of the kernel.',
    interfaces: 'Interfaces that there are.',
    conntrack: 'The kernel’s table of connections.',
    dateTime: 'Clock, time zone and NTP.',
    systemProxy: 'The way out to the world.',
    userInterface: 'Where the API listens, sshd and the console.',
    snmp: 'The SNMP agent.',
    snmpUsers: 'Users of SNMP v3.',
    updates: 'Packages and major versions.',
    lvmSnapshots: 'Snapshots of the root volume.',
    power: 'Switching it off and on again.',
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
