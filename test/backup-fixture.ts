import { canonical } from '../src/backup/canonical.ts'
import type { SealingKey } from '../src/backup/sealing.ts'
import type { BackupSection } from '../src/backup/sections.ts'
import { type BackupSource, backupText, checksumOf } from '../src/backup/writing.ts'
import { LICENCE } from '../src/model/licence.ts'
import type { SectionContents } from '../src/model/sections.ts'
import { backend, frontend, realServer, user } from './config-fixture.ts'

export const sourceOf = (contents: SectionContents, more: Partial<BackupSource> = {}): BackupSource => ({
  applianceVersion: '0.1.0',
  createdAt: '2026-01-02T03:04:05.678Z',
  nodes: [{ id: 'node-1', hostname: 'lb-1' }],
  beside: { licence: LICENCE },
  contents,
  ...more,
})

export function textOf(source: BackupSource, key?: SealingKey, sections?: readonly BackupSection[]): string {
  return Buffer.concat([...backupText(source, key, sections)]).toString()
}

/** The text of a file that was changed, with a checksum that is right again: what checks the rest is reached. */
export function signed(file: object): string {
  return canonical({ ...file, checksum: checksumOf(file) })
}

/** A few records of several sections. */
export const SOME: SectionContents = {
  users: [user('admin', { roles: ['role-1'] })],
  roles: [{ id: 'role-1', name: 'Administrator', builtin: true, endpoints: [] }],
  realServers: [realServer('web-1'), realServer('web-2', { port: null })],
  l7Backends: [backend('be', ['web-1', 'web-2'])],
  l7Frontends: [frontend('fe', 'be')],
  ipGroups: [
    {
      id: 'lan',
      name: 'lan',
      networkIp: '192.0.2.0',
      networkMask: 24,
      gateway: '',
      defaultGateway: false,
      assignedInterfaces: [
        {
          nodeId: 'node-1',
          interfaceId: 'eth0',
        },
      ],
    },
  ],
  staticIps: [{ id: 'sip-1', nodeId: 'node-1', groupId: 'lan', ip: '192.0.2.9', externalPingCheck: true }],
  floatingIps: [{ id: 'fip-1', groupId: 'lan', ip: '192.0.2.10', enabled: true }],
}

/** Something of everything, on two nodes. */
export const EVERYTHING: Required<SectionContents> = {
  healthChecks: [
    {
      id: 'check-1',
      name: 'Queue length',
      description: 'Asks for the length of the queue',
      script: '#!/bin/sh\nexit 0\n',
      services: ['layer-4', 'layer-7'],
      parameters: [{ name: 'max', type: 'integer', default: '10' }],
    },
  ],
  l4Backends: [
    {
      id: 'l4-be',
      name: 'dns',
      scheduler: 'wlc',
      persistTimeout: 300,
      persistMask: '255.255.255.0',
      reals: [],
      healthCheck: { type: 'script', id: 'check-1', parameters: { max: '20' } },
      fallback: null,
    },
  ],
  l4Frontends: [
    {
      id: 'l4-fe',
      name: 'dns',
      ip: '192.0.2.10',
      ports: '53',
      protocol: 'udp',
      forwarding: 'masq',
      backendId: 'l4-be',
      enabled: true,
    },
  ],
  certificates: [],
  cipherLists: [{ id: 'ciphers', name: 'Modern', ciphers: ['TLS_AES_128_GCM_SHA256'] }],
  snmpSettings: [
    {
      id: 'cluster',
      enabledV2: true,
      enabledV3: false,
      community: 'not public',
      location: 'Rack 1',
      contact: '',
      serviceIpId: 'sip-1',
      port: 161,
      engineId: '8000000001020304',
    },
  ],
  snmpUsers: [
    {
      id: 'snmp-1',
      username: 'watcher',
      writeAccess: false,
      authAlgorithm: 'sha',
      privacyAlgorithm: 'aes',
      authKey: 'aa'.repeat(20),
      privacyKey: 'bb'.repeat(16),
    },
  ],
  radiusConfigs: [
    {
      id: 'cluster',
      enabled: true,
      port: 1812,
      authProtocol: 'PAP',
      sharedSecret: 'radius secret',
      timeout: 5,
      retries: 2,
      nasIdentifier: '',
      requireMessageAuthenticator: true,
      hosts: [{ host: '192.0.2.200', port: 1812, sharedSecret: '', priority: 1 }],
      groupAttribute: 'Class',
      groupMappings: [{ value: 'ops', groupId: 'ops' }],
      denyUnmapped: true,
    },
  ],
  radiusUsers: [
    { id: 'radius-1', username: 'alice', disabled: false, groups: ['ops'], createdAt: '2026-11-01T00:00:00.000Z' },
  ],
  samlConfigs: [],
  loginPolicies: [{ id: 'cluster', twoFactorRequired: false }],
  users: [],
  roles: [],
  realServers: [],
  l7Backends: [],
  l7Frontends: [],
  ipGroups: [],
  floatingIps: [],
  ...SOME,
  groups: [
    {
      id: 'ops',
      name: 'Ops',
      roles: ['role-1'],
    },
  ],
  staticIps: [
    {
      id: 'sip-1',
      nodeId: 'node-1',
      groupId: 'lan',
      ip: '192.0.2.9',
      externalPingCheck: true,
    },
    {
      id: 'sip-2',
      nodeId: 'node-2',
      groupId: 'lan',
      ip: '192.0.2.11',
      externalPingCheck: false,
    },
  ],
  ipRoutes: (['node-1', 'node-2'] as const).map((nodeId) => ({
    id: `route-${nodeId}`,
    nodeId,
    name: `to the office of ${nodeId}`,
    type: 'static',
    metric: 10,
    destination: '203.0.113.0/24',
    source: '',
    viaIp: '192.0.2.254',
    interface: 'eth0',
    enabled: true,
  })),
  conntrackLimits: [
    {
      id: 'node-1',
      size: 1e5,
    },
    {
      id: 'node-2',
      size: 2e5,
    },
  ],
  conntrackTimeouts: [
    {
      id: 'cluster',
      tcpTimeout: '15m',
      tcpFinTimeout: '120',
      udpTimeout: '5m',
    },
  ],
  systemProxies: [
    {
      id: 'node-1',
      enable: true,
      address: {
        value: 'proxy.example.test',
        port: 3128,
      },
      username: 'u',
      password: 'p',
      bypass: ['.example.test'],
    },
  ],
  userInterfaces: [
    {
      id: 'node-1',
      apiPort: 9443,
      ipId: 'sip-1',
      SSLCertificate: '',
      sshEnabled: true,
      sshPort: 22,
    },
    {
      id: 'node-2',
      apiPort: 9443,
      ipId: 'sip-2',
      SSLCertificate: '',
      sshEnabled: true,
      sshPort: 22,
    },
  ],
  clocks: [
    {
      id: 'node-1',
      timezone: 'Europe/Paris',
      ntp: {
        enabled: true,
        servers: ['ntp.example.test'],
      },
    },
  ],
  nodeIdentities: [
    {
      id: 'this',
      nodeId: 'node-1',
    },
  ],
}

export const TWO_NODES = [
  { id: 'node-1', hostname: 'lb-1' },
  { id: 'node-2', hostname: 'lb-2' },
]
