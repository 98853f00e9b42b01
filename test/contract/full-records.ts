import { join } from 'node:path'
import type { Test } from 'tap'
import { createAppliance } from '../../src/appliance/appliance.ts'
import { Editing } from '../../src/config/editing.ts'
import { silentLog } from '../../src/base/log.ts'
import { LmdbConfigStore } from '../../storage/config/lmdb-config-store.ts'
import { ADMIN, caller, ETH1, recordingMachine, testSettings } from '../fixtures/appliance.ts'
import type { certificateMaker } from '../fixtures/certificate-maker.ts'
import { temporaryFolder } from '../fixtures/folder.ts'

type Json = Readonly<Record<string, unknown>>

/** A record in which every field was set. */
export interface Full {
  readonly path: string
  /** Reads it with its GET, or from its list. */
  readonly read: () => Promise<Json>
  /** Fields that a rule keeps from being cleared in this record. */
  readonly held?: readonly string[]
  /**
   * Fields that cannot be read, so that sending back what was read does not restore them: they have their own tests.
   */
  readonly elsewhere?: readonly string[]
  /** Fields that change on their own. */
  readonly moving?: readonly string[]
}

const RADIUS_USER = { id: 'nemo', username: 'nemo', disabled: true, groups: [], createdAt: '2026-01-02T03:04:05.000Z' }

/** A daemon at which a user has logged in through RADIUS before. */
async function daemon(test: Test) {
  const state = temporaryFolder(test, 'full-records')
  const store = new LmdbConfigStore(join(state, 'config'))
  const at = RADIUS_USER.createdAt
  await new Editing(store).edit({ actor: 'tester', endpoint: 'test', at }, undefined, (draft) =>
    draft.section('radiusUsers').create(RADIUS_USER),
  )
  await store.close()
  const appliance = await createAppliance(testSettings(state), recordingMachine(state), silentLog)
  test.teardown(() => appliance.close())
  const { json } = await caller(appliance)('POST', '/token', { body: ADMIN })
  return { call: caller(appliance, String(json.data.token)), node: appliance.nodeId }
}

/** For every PUT of a record, one in which every field differs from its value when unset. */
export async function fullRecords(test: Test, maker: ReturnType<typeof certificateMaker>) {
  const { call, node } = await daemon(test)
  const records = new Map<string, Full>()
  /** The record that each creation returned. */
  const returned = new Map<string, Json>()
  const sent = async (method: 'POST' | 'PUT', path: string, body: Json) => {
    const answer = await call(method, method === 'POST' ? `${path}?return=record` : path, { body })
    test.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
    if (method === 'POST') returned.set(path.replace(node, '{applianceId}'), answer.json.data)
    return answer.json.data
  }
  const inside = (data: Json | readonly Json[]): Json => {
    const record: Json = Array.isArray(data) ? data[0] : data
    const [only, ...more] = Object.values(record)
    return more.length === 0 && typeof only === 'object' ? (only as Json) : record
  }
  const known = (name: string, path: string, more: Partial<Full> = {}) =>
    records.set(name, { path, read: async () => inside((await call('GET', path)).json.data), ...more })
  const created = async (name: string, path: string, body: Json, more: Partial<Full> = {}) => {
    const data = await sent('POST', path, body)
    const id = String(data.id ?? data.cipherListID)
    known(`${name}.update`, `${path}/${id}`, more)
    return id
  }
  const settings = async (name: string, path: string, body: Json, more: Partial<Full> = {}) => {
    await sent('PUT', path, body)
    known(name, path, more)
  }

  const made = await access(created)
  const { cert, key } = maker.pair({ name: 'www.test' })
  const certificate = await created(
    'certificates',
    '/certificates/certs',
    { name: 'www', cert, privateKey: key, owner: 'team' },
    { elsewhere: ['privateKey'] },
  )
  const cipherList = await created('cipherLists', '/ciphers/lists', {
    name: 'modern',
    ciphers: ['TLS_AES_128_GCM_SHA256'],
    owner: 'team',
  })
  await settings('syslogServer.update', '/layer7proxy/syslog', {
    host: 'collector.example.test',
    port: 6515,
    transport: 'tls',
    caCertificate: maker.pair({ name: 'collectors', isCa: true }).cert,
    certificateId: certificate,
  })
  const balanced = await balancing(created, {
    certificate,
    cipherList,
    clientCa: maker.pair({ name: 'clients', isCa: true }).cert,
  })
  await settings('l7Raw.update', '/layer7proxy/raw', {
    global: ['nbthread 2'],
    defaults: ['option dontlognull'],
    frontends: [{ id: balanced.frontend, lines: ['option dontlognull'] }],
    backends: [{ id: balanced.backend, lines: ['option log-health-checks'] }],
  })
  const { staticIp } = await network(created, node)
  await alerting(created, { certificate, root: maker.pair({ name: 'of targets', isCa: true }).cert })

  await settings('loginPolicy.update', '/login/policy', { twoFactorRequired: true })
  await settings('conntrack.update', `/${node}/system/conntrack`, {
    size: 4096,
    tcpTimeout: '20m',
    tcpFinTimeout: '90',
    udpTimeout: '45s',
  })
  await settings(
    'systemProxy.update',
    `/${node}/system/proxy`,
    {
      enable: true,
      address: { value: 'proxy.test', port: 3128 },
      username: 'me',
      password: 'secret',
      bypass: ['internal.test'],
    },
    { held: ['address'], elsewhere: ['password'] },
  )
  await settings('userInterface.update', `/${node}/system/userinterface`, {
    apiPort: 9443,
    ipId: staticIp,
    SSLCertificate: certificate,
    sshEnabled: false,
    sshPort: 2222,
  })
  // The record that both of them change is read elsewhere.
  const clock = `/${node}/system/datetime`
  const readClock = async () => (await call('GET', clock)).json.data
  await sent('PUT', `${clock}/timezone`, { zone: 'Europe/Paris' })
  await sent('PUT', `${clock}/ntp`, { ntpEnabled: true, ntp: ['ntp.test'] })
  for (const part of ['ntp', 'timezone'])
    records.set(`dateTime.${part}`, { path: `${clock}/${part}`, read: readClock, moving: ['dateTime'] })

  await settings(
    'snmp.update',
    '/snmp',
    {
      serviceIpId: staticIp,
      enabledV2: true,
      enabledV3: true,
      community: 'watchers',
      location: 'here',
      contact: 'me',
      port: 1161,
    },
    { held: ['community'] },
  )
  await sent('POST', '/snmp/users', {
    username: 'watcher',
    writeAccess: true,
    authAlgorithm: 'sha512',
    authPassphrase: 'a passphrase',
    privacyAlgorithm: 'aes256',
    privacyPassphrase: 'a passphrase',
  })
  const users = async () => (await call('GET', '/snmp/users')).json.data[0]
  records.set('snmpUsers.update', {
    path: `/snmp/users/${(await users()).id}`,
    read: users,
    // Another algorithm needs its passphrase.
    held: ['authAlgorithm', 'privacyAlgorithm'],
    elsewhere: ['authPassphrase', 'privacyPassphrase', 'username'],
  })
  await settings(
    'radiusConfig.update',
    '/radius/config',
    {
      enabled: true,
      port: 1645,
      authProtocol: 'CHAP',
      sharedSecret: 'common secret',
      timeout: 9,
      retries: 1,
      nasIdentifier: 'lb',
      requireMessageAuthenticator: false,
      hosts: [{ host: 'radius.test', port: 1815, sharedSecret: 'its own', priority: 3 }],
      groupAttribute: 'Filter-Id',
      groupMappings: [{ value: 'ops', groupId: made.group }],
      denyUnmapped: false,
    },
    { held: ['hosts'], elsewhere: ['sharedSecret'] },
  )
  known('radiusUsers.update', `/radius/users/${RADIUS_USER.id}`)
  const admins: readonly Json[] = (await call('GET', '/localUsers/users')).json.data
  const { cert: provider } = maker.pair({ name: 'idp.test', key: 'rsa:2048' })
  await settings(
    'saml.update',
    '/saml/config',
    {
      enabled: true,
      enforced: true,
      idpEntityId: 'https://idp.test',
      idpSsoUrl: 'https://idp.test/sso',
      idpCertificates: [provider],
      baseUrl: 'https://lb.test:9443',
      emailAttribute: 'mail',
      breakGlassUserId: String(admins.find(({ email }) => email === ADMIN.email)?.['id']),
    },
    { held: ['enabled', 'idpEntityId', 'idpSsoUrl', 'idpCertificates', 'baseUrl', 'breakGlassUserId'] },
  )
  await settings(
    'oidc.update',
    '/oidc/config',
    {
      enabled: true,
      enforced: true,
      issuer: 'https://idp.test/realms/ours',
      clientId: 'fulcrum',
      clientSecret: 'given by the provider',
      baseUrl: 'https://lb.test:9443',
      scopes: ['openid', 'profile'],
      emailClaim: 'upn',
      caCertificate: maker.pair({ name: 'ca', isCa: true }).cert,
      breakGlassUserId: String(admins.find(({ email }) => email === ADMIN.email)?.['id']),
      groupsClaim: 'groups',
      groupMappings: [{ group: '/operators', roles: [made.role] }],
      denyUnmapped: false,
    },
    { held: ['enabled', 'issuer', 'clientId', 'baseUrl', 'breakGlassUserId'], elsewhere: ['clientSecret'] },
  )
  await orders(sent, created)
  return { call, records, returned, node }
}

type Created = (name: string, path: string, body: Json, more?: Partial<Full>) => Promise<string>

/** A CA is asked only for running records. */
async function orders(sent: (method: 'POST', path: string, body: Json) => Promise<Json>, created: Created) {
  await sent('POST', '/layer7proxy/frontends', { name: 'door', mode: 'http', ip: '192.0.2.52', ports: '8123' })
  const ca = { name: 'ca', directoryUrl: 'https://ca.test/directory', termsAgreed: true, httpPort: 8123 }
  const { id: accountId } = await sent('POST', '/certificates/acme/accounts', ca)
  const { id: scriptId } = await sent('POST', '/healthchecks', {
    name: 'records',
    description: '',
    script: '#!/bin/sh\n# @param {"name":"zone"}\n# @param {"name":"token","type":"secret","required":true}\n',
    services: ['dns-01'],
  })
  const order = {
    name: 'site',
    names: ['*.site.test'],
    accountId,
    challenge: 'dns-01',
    keyType: 'ec384',
    dns: { scriptId, parameters: { zone: 'site.test' }, timeout: 9, delay: 1, visibleWithin: 7, nameServers: ['::1'] },
    secrets: { token: 'its own' },
  }
  await created('acmeOrders', '/certificates/acme/orders', order)
}

async function access(created: Created) {
  const group = await created('groups', '/rbac/groups', { id: 'ops', name: 'Ops' })
  const role = await created('roles', '/rbac/roles', {
    name: 'pingers',
    users: [],
    groups: [group],
    endpoints: [
      { path: '/services', methods: ['GET'] },
      { path: '/ipvsDirector/rips', methods: ['GET'], where: { owner: 'shop', names: ['shop-*'], ids: ['r-1'] } },
    ],
  })
  await created('localUsers', '/localUsers/users', {
    email: 'u@localhost',
    firstname: 'U',
    lastname: 'V',
    password: 'a-password',
    disabled: true,
    groups: [group],
    roles: [role],
  })
  return { group, role }
}

async function balancing(created: Created, { certificate, cipherList, clientCa }: Readonly<Record<string, string>>) {
  const rip = { name: 'web', ip: '192.0.2.7', port: 8001, weight: 7, state: 'drained', owner: 'team' }
  const ripId = await created('realServers', '/ipvsDirector/rips', rip)
  await created('realServers', '/ipvsDirector/rips', { ...rip, name: 'far', ip: 'web.test', resolve: 'start' })
  const check = await created(
    'healthChecks',
    '/healthchecks',
    {
      name: 'own',
      description: 'mine',
      owner: 'team',
      script: '#!/bin/sh\n# @param {"name":"fromHeader"}\nexit 0\n',
      services: ['layer-4', 'layer-7'],
      parameters: [{ name: 'timeout', label: 'Timeout', type: 'integer', default: '5' }],
    },
    { held: ['parameters'] },
  )
  const healthCheck = { type: 'script', id: check, parameters: { timeout: '3' }, interval: 9, rise: 4, fall: 5 }
  const fallback = { ip: '192.0.2.9', port: 8080 }
  const l4Backend = await created(
    'l4Backends',
    '/ipvsDirector/backends',
    {
      name: 'l4',
      scheduler: 'rr',
      persistTimeout: 60,
      persistMask: '255.255.255.0',
      reals: [{ ripId, weight: 3, port: 81 }],
      healthCheck: { ...healthCheck, rise: 1 },
      fallback,
      owner: 'team',
    },
    { held: ['persistTimeout'] },
  )
  const l4Frontend = { ip: '192.0.2.50', ports: '80,443', protocol: 'tcp', forwarding: 'masq', backendId: l4Backend }
  await created('l4Frontends', '/ipvsDirector/frontends', {
    ...l4Frontend,
    name: 'l4 fe',
    enabled: false,
    owner: 'team',
  })
  const answers = {
    maintenance: { enabled: true, status: 404, page: 'x' },
    errorPages: [{ status: 503, page: 'x' }],
  }
  const real = { ripId, weight: 5, port: 8002, encrypted: true, sni: 'web.test', verify: true, backup: true }
  const l7Backend = await created('l7Backends', '/layer7proxy/backends', {
    name: 'l7',
    mode: 'http',
    balance: 'leastconn',
    persistence: { type: 'cookie', cookieName: 'S' },
    reals: [{ ...real, sendProxy: true, maxConn: 10 }],
    healthCheck,
    fallback,
    timeoutConnect: 7,
    timeoutServer: 70,
    enabled: false,
    rules: [{ do: { type: 'removeHeader', name: 'Server' } }],
    ...answers,
    httpReuse: 'always',
    timeouts: { queue: 1, tunnel: 3600, serverFin: 2, check: 3 },
    owner: 'team',
  })
  const frontend = await created(
    'l7Frontends',
    '/layer7proxy/frontends',
    {
      name: 'l7 fe',
      mode: 'http',
      ip: '192.0.2.51',
      ports: '443',
      defaultBackendId: l7Backend,
      maxConn: 100,
      timeoutClient: 33,
      forwardFor: false,
      enabled: false,
      certificates: [certificate],
      cipherListId: cipherList,
      minTls: '1.3',
      httpRedirectToHttps: true,
      hsts: 3600,
      logs: { enabled: true, format: 'combined', sample: 10, headers: ['User-Agent'] },
      rules: [{ name: 'api', when: { all: [{ type: 'path', values: ['/api'] }] }, do: { type: 'deny' } }],
      ...answers,
      compression: { enabled: true, types: ['text/html'] },
      timeouts: { httpRequest: 1, httpKeepAlive: 2, clientFin: 3 },
      alpn: ['http/1.1'],
      http3: true,
      proxyProtocol: ['192.0.2.0/24'],
      clientCa,
      clientVerify: 'optional',
      owner: 'team',
    },
    { held: ['certificates', 'clientCa', 'clientVerify'] },
  )
  return { frontend, backend: l7Backend }
}

/** A syslog server; fields of targets of other types are in test/src/resources/alert-targets.test.ts. */
async function alerting(
  created: Created,
  { root, certificate }: { readonly root: string; readonly certificate: string },
) {
  const target = await created(
    'alertTargets',
    '/alerts/targets',
    {
      name: 'those on duty',
      enabled: false,
      type: 'syslog',
      host: 'collector.test',
      port: 6515,
      transport: 'tls',
      caCertificate: root,
      certificateId: certificate,
    },
    { held: ['host'] },
  )
  await created('alertRules', '/alerts/rules', {
    name: 'many sessions',
    enabled: false,
    severity: 'critical',
    when: { type: 'threshold', object: 'frontend', metric: 'currentSessions', value: 10 },
    for: 1,
    clearFor: 2,
    repeatEvery: 60,
    resolve: false,
    targets: [target],
  })
}

async function network(created: Created, node: string) {
  const lan = {
    name: 'lan',
    networkIp: '198.51.100.0',
    networkMask: 24,
    gateway: '198.51.100.1',
    defaultGateway: true,
    assignedInterfaces: [{ nodeId: node, interfaceId: ETH1 }],
    vrrpId: 7,
    owner: 'team',
    advertInterval: 0.5,
    preempt: true,
    connectionSync: true,
  }
  const groupId = await created('ipGroups', '/ipgroups', lan, { held: ['networkIp', 'networkMask', 'gateway'] })
  const staticIp = await created('staticIps', `/${node}/sips`, {
    groupId,
    ip: '198.51.100.10',
    externalPingCheck: false,
  })
  const floating = { groupId, ip: '198.51.100.20', enabled: false, preferredNode: node, owner: 'team' }
  await created('floatingIps', '/fips', floating, { moving: ['holder', 'since'] })
  const route = { name: 'r', type: 'policy', destination: '203.0.113.0/24', source: '198.51.100.0/24' }
  await created(
    'ipRoutes',
    `/${node}/routes`,
    { ...route, viaIp: '198.51.100.1', interface: ETH1, metric: 5, enabled: false },
    { held: ['source'] },
  )
  return { staticIp }
}
