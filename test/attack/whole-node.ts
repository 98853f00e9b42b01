import type { Test } from 'tap'
import { type Caller, ETH0 } from '../fixtures/appliance.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { freePort } from '../fixtures/traffic.ts'
import { PASSWORD } from './attack-fixture.ts'

/** A request that changes something, with a value in every field. */
export interface Change {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
}

export function certificatePair(test: Test, name = 'www.test') {
  const { cert, key } = certificateMaker(test).pair({ name })
  return { cert, privateKey: key }
}

const PASSPHRASE = 'a passphrase of some length'

/** Stages and applies records of every section that reaches a program; returns a change for each. */
export async function wholeNode(test: Test, call: Caller, node: string): Promise<readonly Change[]> {
  const id = async (path: string, body: unknown): Promise<string> => {
    const { status, text, json } = await call('POST', path, { body })
    if (status !== 201) throw new Error(`POST ${path}: ${text}`)
    return String(json.data?.id ?? json.data?.cipherListID)
  }
  const real = { name: 'web', ip: 'web.example', port: 8001 }
  const rip = await id('/ipvsDirector/rips', real)
  const reals = [{ ripId: rip, weight: 10, sni: 'sni.example', encrypted: true, verify: false }]
  const check = { type: 'http', path: '/health', host: 'health.example', expect: '200-299' }
  const backendBody = {
    name: 'be',
    mode: 'http',
    persistence: { type: 'cookie', cookieName: 'SERVED' },
    reals,
    healthCheck: check,
    rules: [
      {
        when: { all: [{ type: 'header', name: 'X-A', match: 'contains', values: ['a value'] }] },
        do: { type: 'setHeader', name: 'X-B', value: 'a value' },
      },
    ],
  }
  const backend = await id('/layer7proxy/backends', backendBody)
  const checkBody = {
    name: 'a check',
    description: 'Asks',
    script: '#!/bin/sh\nexit 0\n',
    services: ['layer-7'],
    parameters: [{ name: 'word', type: 'string', default: 'a default', label: 'Word' }],
  }
  const own = await id('/healthchecks', checkBody)
  const checkedBody = {
    name: 'checked',
    mode: 'tcp',
    reals: [{ ripId: rip }],
    healthCheck: { type: 'script', id: own, parameters: { word: 'a value' } },
  }
  const checked = await id('/layer7proxy/backends', checkedBody)
  const defaulted = { ...checkedBody, name: 'defaulted', healthCheck: { type: 'script', id: own } }
  await id('/layer7proxy/backends', defaulted)
  const frontendBody = {
    name: 'fe',
    mode: 'http',
    ip: '127.0.0.1',
    ports: '8000',
    defaultBackendId: backend,
    rules: rulesWith(backend),
    maintenance: { enabled: true, page: 'a page' },
    errorPages: [{ status: 503, page: 'a page' }],
    compression: { enabled: true, types: ['text/html'] },
    proxyProtocol: ['127.0.0.2'],
  }
  const frontend = await id('/layer7proxy/frontends', frontendBody)
  const group = await id('/rbac/groups', { id: 'ops', name: 'Ops' })
  const roleBody = { name: 'a role', users: [], groups: [group], endpoints: [{ path: '/ping', methods: ['GET'] }] }
  const role = await id('/rbac/roles', roleBody)
  const userBody = {
    email: 'u@localhost',
    firstname: 'U',
    lastname: 'V',
    password: PASSWORD,
    disabled: 'false',
    groups: [group],
    roles: [role],
  }
  const user = await id('/localUsers/users', userBody)
  const lan = {
    name: 'lan',
    networkIp: '192.0.2.0',
    networkMask: 24,
    assignedInterfaces: [{ nodeId: node, interfaceId: ETH0 }],
  }
  const lanId = await id('/ipgroups', lan)
  const sipBody = { groupId: lanId, ip: '192.0.2.10' }
  const sip = await id(`/${node}/sips`, sipBody)
  const fipBody = { groupId: lanId, ip: '192.0.2.20' }
  const fip = await id('/fips', fipBody)
  const routeBody = {
    name: 'a route',
    type: 'static',
    destination: '203.0.113.0/24',
    viaIp: '192.0.2.1',
    interface: 'eth0',
  }
  const route = await id(`/${node}/routes`, routeBody)
  const cipherBody = { name: 'ciphers', ciphers: ['TLS_AES_128_GCM_SHA256'] }
  const cipherList = await id('/ciphers/lists', cipherBody)
  const certificateBody = { name: 'a certificate', ...certificatePair(test), force: false }
  const certificate = await id('/certificates/certs', certificateBody)
  const snmpUser = {
    username: 'watcher',
    authPassphrase: PASSPHRASE,
    privacyPassphrase: PASSPHRASE,
    writeAccess: false,
  }
  await call('POST', '/snmp/users', { body: snmpUser })
  const watcher = String((await call('GET', '/snmp/users')).json.data[0].id)
  const change = (name: string, path: string, body: Readonly<Record<string, unknown>>, method = 'PUT') => ({
    name,
    method,
    path,
    body,
  })
  const settings = [
    change('snmp.update', '/snmp', {
      serviceIpId: sip,
      enabledV2: true,
      enabledV3: true,
      community: 'a-community',
      location: 'Rack',
      contact: 'someone',
    }),
    change('systemProxy.update', `/${node}/system/proxy`, {
      enable: true,
      address: { value: 'proxy.example', port: 3128 },
      username: 'me',
      password: 'a-secret',
      bypass: ['bypass.example', '198.51.100.0/24'],
    }),
    change('dateTime.ntp', `/${node}/system/datetime/ntp`, { ntpEnabled: true, ntp: ['ntp1.example', 'ntp2.example'] }),
    change('userInterface.update', `/${node}/system/userinterface`, {
      // The user who runs the tests may have a daemon at the usual port.
      apiPort: await freePort(),
      sshEnabled: true,
      sshPort: 2222,
      consoleEnabled: true,
      consolePassword: 'A-Console-Passw0rd!',
    }),
    change('dateTime.timezone', `/${node}/system/datetime/timezone`, { zone: 'Europe/Paris' }),
    change('conntrack.update', `/${node}/system/conntrack`, {
      size: 100_000,
      tcpTimeout: '432000',
      tcpFinTimeout: '120',
      udpTimeout: '30',
    }),
    change('radiusConfig.update', '/radius/config', {
      enabled: true,
      hosts: [{ host: '192.0.2.7', port: null, sharedSecret: 'a-shared-secret', priority: 1 }],
      nasIdentifier: 'nas',
      groupAttribute: 'Class',
      groupMappings: [{ value: 'admins', groupId: group }],
      sharedSecret: 'another-shared-secret',
    }),
    change('saml.update', '/saml/config', {
      enabled: false,
      idpEntityId: 'https://idp.example/',
      idpSsoUrl: 'https://idp.example/sso',
      baseUrl: 'https://lb.example',
      emailAttribute: 'mail',
      breakGlassUserId: user,
    }),
    change('oidc.update', '/oidc/config', {
      enabled: false,
      issuer: 'https://idp.example/',
      clientId: 'fulcrum',
      clientSecret: 'a-client-secret',
      baseUrl: 'https://lb.example',
      scopes: ['openid'],
      emailClaim: 'email',
      breakGlassUserId: user,
    }),
  ]
  await must(call, settings)
  await must(call, [change('apply', '/services/apply', {})])
  return [
    change('realServers.update', `/ipvsDirector/rips/${rip}`, real),
    change('l7Backends.update', `/layer7proxy/backends/${backend}`, backendBody),
    change('l7Backends.update', `/layer7proxy/backends/${checked}`, checkedBody),
    change('healthChecks.update', `/healthchecks/${own}`, checkBody),
    change('l7Frontends.update', `/layer7proxy/frontends/${frontend}`, frontendBody),
    change('groups.update', `/rbac/groups/${group}`, { name: 'Ops' }),
    change('roles.update', `/rbac/roles/${role}`, roleBody),
    change('localUsers.update', `/localUsers/users/${user}`, userBody),
    change('ipGroups.update', `/ipgroups/${lanId}`, lan),
    change('staticIps.update', `/${node}/sips/${sip}`, sipBody),
    change('floatingIps.update', `/fips/${fip}`, fipBody),
    change('ipRoutes.update', `/${node}/routes/${route}`, routeBody),
    change('cipherLists.update', `/ciphers/lists/${cipherList}`, cipherBody),
    change('certificates.update', `/certificates/certs/${certificate}`, certificateBody),
    change('snmpUsers.update', `/snmp/users/${watcher}`, snmpUser),
    ...settings,
  ]
}

/** Rules with every text field, in each kind of line that they become. */
function rulesWith(backendId: string): readonly object[] {
  const condition = (type: string, match: string, value: string, name?: string) => ({
    type,
    match,
    values: [value],
    ...(name !== undefined && { name }),
  })
  const conditions = [
    condition('path', 'begins', '/a'),
    condition('path', 'regex', '^/a'),
    condition('host', 'is', 'www.test'),
    condition('host', 'regex', 'www'),
    condition('header', 'is', 'a value', 'X-A'),
    condition('cookie', 'contains', 'a value', 'C'),
    condition('query', 'ends', 'a value', 'q'),
  ]
  const sent = [
    condition('method', 'is', 'GET'),
    condition('source', 'in', '192.0.2.0/24'),
    condition('sni', 'is', 'a'),
  ]
  return [
    { name: 'a rule', when: { all: conditions }, do: { type: 'backend', backendId } },
    { when: { any: sent }, do: { type: 'deny' } },
    { name: 'of a map', when: { all: [conditions[2]] }, do: { type: 'backend', backendId } },
    { do: { type: 'setHeader', name: 'X-A', value: 'a {host} value' } },
    { do: { type: 'addHeader', name: 'X-A', value: 'a value' } },
    { do: { type: 'removeHeader', name: 'X-A' } },
    { do: { type: 'setVariable', name: 'a', value: 'a value' } },
    { do: { type: 'rewritePath', value: '/a', to: '/b' } },
    { do: { type: 'rewritePath', match: 'regex', value: '^/a', to: '/b' } },
    { do: { type: 'limit', per: 'header', name: 'X-A', rate: 1 } },
    { when: { all: [conditions[0]] }, do: { type: 'redirect', to: '/a' } },
    { when: { all: [conditions[0]] }, do: { type: 'respond', contentType: 'text/plain', body: 'a body' } },
  ]
}

/** Makes these changes; each has to be accepted. */
export async function must(call: Caller, changes: readonly Change[]): Promise<void> {
  for (const { method, path, body } of changes) {
    const { status, text } = await call(method, path, { body })
    if (status >= 300) throw new Error(`${method} ${path}: ${text}`)
  }
}

/** Yields each text in a body, with a function that replaces it. */
export function* texts(
  value: unknown,
  at = '',
): Generator<{ readonly at: string; readonly text: string; with(text: string): unknown }, void> {
  if (typeof value === 'string') yield { at, text: value, with: (text) => text }
  if (typeof value !== 'object' || value === null) return
  const inner = `${at}${at === '' ? '' : '.'}`
  for (const [name, field] of Object.entries(value))
    for (const place of texts(field, `${inner}${name}`))
      yield {
        at: place.at,
        text: place.text,
        with: (text) =>
          Array.isArray(value)
            ? value.map((item: unknown, index) => (String(index) === name ? place.with(text) : item))
            : { ...value, [name]: place.with(text) },
      }
}
