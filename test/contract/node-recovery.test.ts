import t, { type Test } from 'tap'
import type { Write } from '../../storage/config/config-store.ts'
import { SHARED } from '../../src/model/node.ts'
import { l4Backend, l4Frontend, realServer } from '../fixtures/config.ts'
import { NODE, OTHER, record, recordedNode, removed } from './node-settings.ts'

const STATES = ['online', 'drained', 'halted'] as const

/** The settings of a node, every section of them, and the settings of keepalived. */
function settings(n: number): readonly Write[] {
  const subnet = {
    networkIp: '198.51.0.0',
    networkMask: 16,
    gateway: `198.51.${n}.254`,
    defaultGateway: n % 2 === 0,
  }
  const route = { nodeId: NODE, viaIp: `198.51.${n}.1`, interface: 'card', enabled: true }
  return [
    record('conntrackLimits', { id: NODE, size: 100_000 + n }),
    record('conntrackTimeouts', { id: SHARED, tcpTimeout: `${n + 1}m`, tcpFinTimeout: '120', udpTimeout: '1h' }),
    record('clocks', {
      id: NODE,
      timezone: n % 2 === 0 ? 'Europe/Berlin' : 'Asia/Tokyo',
      ntp: { enabled: n % 3 !== 0, servers: [`192.0.2.${n}`] },
    }),
    record('systemProxies', {
      id: NODE,
      enable: n % 4 !== 0,
      address: { value: 'proxy.example.test', port: 3128 + n },
      username: 'fetcher',
      password: `secret-${n}`,
      bypass: ['.example.test'],
    }),
    record('userInterfaces', {
      id: NODE,
      apiPort: 9443,
      ipId: '',
      SSLCertificate: '',
      sshEnabled: n % 5 !== 0,
      sshPort: 2200 + n,
    }),
    record('ipGroups', {
      id: 'lan',
      name: 'lan',
      ...subnet,
      assignedInterfaces: [
        { nodeId: NODE, interfaceId: 'card' },
        { nodeId: OTHER, interfaceId: 'other card' },
      ],
      ...(n % 2 === 0 ? {} : { advertInterval: 0.5 }),
    }),
    record('staticIps', {
      id: 'ip-other',
      nodeId: OTHER,
      groupId: 'lan',
      ip: `198.51.${n}.8`,
      externalPingCheck: false,
    }),
    record('floatingIps', { id: `floating-${n % 2}`, groupId: 'lan', ip: `198.51.${n}.100`, enabled: n % 7 !== 0 }),
    record('staticIps', {
      id: `ip-${n % 3}`,
      nodeId: NODE,
      groupId: 'lan',
      ip: `198.51.${n}.7`,
      externalPingCheck: false,
    }),
    record('ipRoutes', {
      id: `route-${n % 3}`,
      ...route,
      name: `route ${n % 3}`,
      type: 'static',
      destination: `203.0.${n % 3}.${(n % 8) * 16}/28`,
      source: '',
      metric: null,
    }),
    record(
      'realServers',
      realServer('web', { ip: '198.51.0.80', port: 80, weight: n, state: STATES[n % 3] ?? 'online' }),
    ),
    record('realServers', realServer('app', { ip: '198.51.0.81', port: 80 })),
    record('healthChecks', {
      id: 'own',
      name: 'own',
      description: '',
      script: `#!/bin/sh\nexit ${n}\n`,
      services: ['layer-4'],
      parameters: [],
    }),
    record(
      'l4Backends',
      l4Backend('l4', n % 2 === 0 ? ['web', 'app'] : ['web'], {
        persistTimeout: n % 4 === 0 ? 0 : n,
        healthCheck: n % 3 === 0 ? { type: 'tcp' } : { type: 'script', id: 'own' },
        fallback: n % 5 === 0 ? null : { ip: '198.51.0.82', port: 80 },
      }),
    ),
    record('l4Frontends', l4Frontend('l4', 'l4', { ip: '198.51.100.1', ports: n % 3 === 0 ? '80' : `80,${8000 + n}` })),
    record('ipRoutes', {
      id: 'policy',
      ...route,
      name: 'policy',
      type: 'policy',
      destination: '',
      source: `198.51.${n}.7`,
      metric: n,
    }),
  ]
}

/** Records that need the IP group. */
const IN_GROUP: ReadonlySet<string> = new Set(['staticIps', 'floatingIps'])
const LAYER_4: ReadonlySet<string> = new Set(['realServers', 'healthChecks', 'l4Backends', 'l4Frontends'])

const ALL: readonly Write[] = [
  removed('conntrackLimits', NODE),
  removed('conntrackTimeouts', SHARED),
  removed('clocks', NODE),
  removed('systemProxies', NODE),
  removed('userInterfaces', NODE),
  removed('ipRoutes', 'policy'),
  removed('l4Frontends', 'l4'),
]

const NOTHING = { addresses: [], routes: [], rules: [] }

/** The state of a machine on which only these were ever applied. */
async function fresh(test: Test, writes: readonly Write[]) {
  const node = recordedNode(test)
  await node.stage(writes.filter(({ value }) => value !== undefined))
  await node.apply()
  return node.state()
}

t.test(
  'killed at each step of an apply of every setting: the next start makes the machine old, and the apply new',
  async (test) => {
    const [before, after] = [await fresh(test, settings(1)), await fresh(test, settings(2))]
    test.notSame(before, after)
    let killedAt = 0
    for (let isKilled = true; isKilled; killedAt += 1) {
      const node = recordedNode(test)
      await node.stage(settings(1))
      await node.apply()
      // Records of the old configuration that the new one does not have.
      await node.stage([
        ...settings(2),
        removed('staticIps', 'ip-1'),
        removed('ipRoutes', 'route-1'),
        removed('floatingIps', 'floating-1'),
      ])
      isKilled = false
      const dying = node.engine((index) => {
        if (index !== killedAt) return
        isKilled = true
        throw new Error('killed')
      })
      if (
        await node.apply(dying).then(
          () => false,
          () => true,
        )
      ) {
        test.equal(node.store.revision, 1, `at step ${killedAt}: running is the old one`)
        test.match(await node.start(), { ok: true })
        test.same(node.state(), before, `at step ${killedAt}: the machine is the old one`)
        test.equal(node.store.journal(), undefined)
        await node.apply()
      }
      test.same(node.state(), after, `at step ${killedAt}: the machine is the new one`)
    }
    test.ok(killedAt > 12, `${killedAt} steps`)
  },
)

t.test('the same from and to a machine that was never configured', async (test) => {
  const whole = settings(3)
  for (let killedAt = 0, isKilled = true; isKilled; killedAt += 1) {
    const node = recordedNode(test)
    await node.apply()
    await node.stage(whole)
    isKilled = false
    const dying = node.engine((index) => {
      if (index !== killedAt) return
      isKilled = true
      throw new Error('killed')
    })
    await node.apply(dying).catch(() => undefined)
    if (!isKilled) break
    test.match(await node.start(), { ok: true })
    const { network: left, ...others } = node.state()
    const { network: none, ...untouched } = await fresh(test, [])
    test.same(left ?? NOTHING, none ?? NOTHING)
    test.same(others, untouched, `at step ${killedAt}: everything is as found`)
  }
})

/** A small generator with a seed, so that a failure can be repeated. */
function random(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >>> 8) % below
  }
}

t.test('path independence: 30 random changes lead to the same state as applying the end state once', async (test) => {
  for (let seed = 1; seed <= 25; seed += 1) {
    const pick = random(seed)
    const node = recordedNode(test)
    const end = new Map<string, Write>()
    for (let change = 0; change < 30; change += 1) {
      const choices = pick(4) === 0 ? ALL : settings(1 + pick(20))
      const write = choices[pick(choices.length)]
      if (write === undefined) continue
      // An address needs its group, and balanced services belong together.
      const isBalanced = LAYER_4.has(write.section) && write.value !== undefined
      const alone = IN_GROUP.has(write.section) && !end.has('ipGroups lan') ? [] : [write]
      const writes = isBalanced ? choices.filter(({ section }) => LAYER_4.has(section)) : alone
      for (const each of writes) end.set(`${each.section} ${each.key}`, each)
      await node.stage(writes)
      if (pick(3) === 0) await node.apply()
    }
    await node.apply()
    const once = await fresh(test, [...end.values()])
    const [came, wanted] = [node.state(), once].map((state) => ({ ...state, network: state['network'] ?? NOTHING }))
    test.same(came, wanted, `seed ${seed}`)
  }
})
