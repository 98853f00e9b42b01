import type { Example } from '../../src/api/openapi-examples.ts'

/** Examples of answers that no test in one process gets. They are checked against their schemas like the others. */

interface Written {
  /** Why it is not recorded. */
  readonly why: string
  /** A recorded example of the operation takes precedence. */
  readonly example: Example
}

const CLUSTER = 'takes etcd beside several nodes'
const PROVIDER = 'takes an identity provider'
const FIRED = 'takes a rule that has fired for a while'

const id = (last: number) => `01900000-0000-7000-8000-00000000000${last}`
const at = '2026-01-02T03:04:05.000Z'
const success = (message: string, data: unknown) => ({ status: 'success', message, data })

const address = (last: number) => `192.0.2.${last}:9444`
const node = (last: number, more: object) => ({
  id: id(last),
  name: `lb-${last}`,
  address: address(last),
  isSelf: false,
  state: 'online',
  isVoter: true,
  isLeader: false,
  ahead: 0,
  maintenance: null,
  certificateEnd: '2027-01-02T03:04:05.000Z',
  isReady: true,
  floatingIps: [],
  version: '0.1.0',
  since: at,
  ...more,
})
const state = {
  id: id(9),
  name: 'site',
  epoch: 1,
  preferredNode: null,
  takeoverAfter: null,
  histories: null,
  quorum: true,
  sequence: 42,
  halted: null,
  removedAt: null,
  nodes: [node(1, { isSelf: true, isLeader: true, floatingIps: ['192.0.2.80'] }), node(2, {})],
  witness: null,
  spareVotes: 0,
}

const token = 'the text that is shown once'
const session = success('Logged in', {
  user: { id: id(1), email: 'jane@localhost', name: 'Jane Roe', extra: [] },
  token: 'a JSON Web Token',
  appliance_id: id(2),
  applianceVersion: '0.1.0',
  licence: {
    updateType: 'packages',
    platform: 'debian',
    serial: '',
    model: 'Fulcrum',
    supportExpired: false,
    daysToExpire: 3650,
    companyName: '',
    maxVips: 2_147_483_647,
    maxRips: 2_147_483_647,
    supportExpireDate: '02/01/2036',
    modules: [{ name: 'layer7proxy', fullName: 'Layer 7 load balancer (HAProxy)', enabled: true }],
    licenceType: 'community',
  },
})

const alert = {
  id: id(1),
  state: 'firing',
  severity: 'warning',
  ruleId: id(2),
  ruleName: 'a server is down',
  kind: 'serverDown',
  objectType: 'server',
  objectId: `${id(3)}/${id(4)}`,
  objectName: 'web1',
  text: 'The real server web1 is down',
  value: null,
  since: at,
  endedAt: null,
  count: 1,
  silenceId: null,
  deliveries: [
    {
      targetId: id(5),
      targetName: 'chat',
      messageId: id(6),
      phase: 'firing',
      outcome: 'delivered',
      at,
      tries: 0,
      nextTry: null,
      reason: null,
    },
  ],
}
const delivery = {
  targetId: id(5),
  targetName: 'chat',
  at,
  waiting: 0,
  delivered: 12,
  dropped: 0,
  lastDeliveredAt: at,
  failures: 0,
  lastError: null,
  nextTry: null,
}

/** By the name of the endpoint. */
export const ELSEWHERE: Readonly<Record<string, Written>> = {
  'cluster.show': { why: CLUSTER, example: { answer: success('Cluster', state) } },
  'cluster.form': { why: CLUSTER, example: { request: { name: 'site', address: address(1), nodeName: 'lb-1' } } },
  'cluster.issueToken': {
    why: CLUSTER,
    example: { answer: success('Token created', { id: id(1), token, expiresAt: at }) },
  },
  'cluster.join': {
    why: CLUSTER,
    example: {
      request: { token, address: address(2), nodeName: 'lb-2', dryRun: true },
      answer: success('Preview of joining; nothing was changed', {
        clusterId: id(9),
        name: 'site',
        version: '0.1.0',
        nodes: [{ id: id(1), name: 'lb-1', address: address(1) }],
        removed: [],
        brings: [{ resource: 'staticIps', name: '192.0.2.2' }],
        reachable: true,
      }),
    },
  },
  'saml.token': { why: PROVIDER, example: { answer: session } },
  'oidc.token': { why: PROVIDER, example: { answer: session } },
  'alerts.list': { why: FIRED, example: { answer: success('Alerts', [alert]) } },
  'alerts.deliveries': { why: FIRED, example: { answer: success('Deliveries of alerts', [delivery]) } },
}

/** Operations without any example, and why. */
export const NONE: Readonly<Record<string, string>> = {
  'documents.openapi': 'it would be the document in itself',
}
