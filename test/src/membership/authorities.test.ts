import { X509Certificate } from 'node:crypto'
import { connect, createServer, type TLSSocket } from 'node:tls'
import t from 'tap'
import { newClusterKey } from '../../../src/cluster/sealing.ts'
import {
  authoritiesIn,
  dropUnused,
  issuersIn,
  issuingPair,
  keepAuthorities,
  newAuthorities,
  pairOf,
  settled,
  takenFrom,
  unusedPairs,
} from '../../../src/membership/authorities.ts'
import { certify, newRequests, revocationOf, withKeys } from '../../../src/membership/foundation.ts'
import { type AuthorityPair, Members } from '../../../src/membership/members.ts'
import { secureOptionsOf } from '../../../src/peers/peer-tls.ts'
import { clusterKeys } from '../../fixtures/cluster-in-memory.ts'
import { openStore } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { founded } from '../../fixtures/membership.ts'
import { EtcdInMemory } from '../../simulators/etcd-in-memory.ts'

const NOW_MS = Date.now()

const pair = (number: number): AuthorityPair => ({
  number,
  keyId: `k${number}`,
  certificates: { peer: `peer ${number} `, client: `client ${number} ` },
})
const node = (certifiedBy: number, trusts: number) => ({ certifiedBy, trusts }) as never
const known = (nodes: readonly (readonly [number, number])[], numbers: readonly number[]) => ({
  voters: () => nodes.map(([certifiedBy, trusts]) => node(certifiedBy, trusts)),
  authorities: () => numbers.map(pair),
})

t.test('each step of a change is taken when every node has completed the previous one', async (t) => {
  const at = (nodes: readonly (readonly [number, number])[], numbers: readonly number[]) => {
    const members = known(nodes, numbers)
    return [issuingPair(members).number, unusedPairs(members).map(({ number }) => number)]
  }
  const steps = [
    [
      [
        [1, 1],
        [1, 1],
      ],
      [1],
      1,
      [],
    ],
    [
      [
        [1, 2],
        [1, 1],
      ],
      [1, 2],
      1,
      [],
    ],
    [
      [
        [1, 2],
        [1, 2],
      ],
      [1, 2],
      2,
      [],
    ],
    [
      [
        [2, 2],
        [1, 2],
      ],
      [1, 2],
      2,
      [],
    ],
    [
      [
        [2, 2],
        [2, 2],
      ],
      [1, 2],
      2,
      [1],
    ],
    // A node that was away while two were removed.
    [
      [
        [2, 3],
        [1, 1],
      ],
      [1, 2, 3],
      1,
      [],
    ],
    [
      [
        [2, 3],
        [1, 3],
      ],
      [1, 2, 3],
      3,
      [],
    ],
    [
      [
        [3, 3],
        [3, 3],
      ],
      [1, 2, 3],
      3,
      [1, 2],
    ],
  ] as const
  for (const [nodes, numbers, issuer, unused] of steps) t.same(at(nodes, numbers), [issuer, unused])
  t.throws(() => issuingPair(known([[1, 1]], [])), /no authorities/)
})

t.test('the issuer of the presented certificate comes first', async (t) => {
  t.equal(takenFrom([1, 2, 3].map(pair), 2).client, 'client 2 client 1 client 3 ')
})

t.test('what a crash has left in etcd counts', async (t) => {
  const etcd = new EtcdInMemory().client()
  const keys = clusterKeys()
  const make = async () => await newAuthorities('cluster-1', NOW_MS)
  const first = await keepAuthorities(etcd, keys, await make())
  const again = await keepAuthorities(etcd, keys, await make())
  t.same([again.peer.pin, again.client.pin], [first.peer.pin, first.client.pin])
  const before = keys.newestKeyId
  keys.add(newClusterKey())
  const other = await keepAuthorities(etcd, keys, await make())
  t.not(other.client.pin, first.client.pin, 'another key of the cluster seals others')
  t.equal((await authoritiesIn(etcd, keys, before)).client.pin, first.client.pin)
  await t.rejects(authoritiesIn(etcd, keys, 'none'), /no peer authority/)
})

t.test('authorities without a presented certificate are dropped, with their keys', async (t) => {
  const store = openStore(t)
  const [etcd, keys, members] = [new EtcdInMemory().client(), clusterKeys(), new Members(store.members)]
  await founded(store, etcd, keys, NOW_MS)
  const before = keys.newestKeyId
  keys.add(newClusterKey())
  const kept = await keepAuthorities(etcd, keys, await newAuthorities('cluster-1', NOW_MS))
  await members.tellAuthorities(() => pairOf(kept, keys.newestKeyId, 2))
  await members.add(() => ({ id: 'a', certifiedBy: 1, trusts: 2 }) as never)
  t.match(await issuersIn(etcd, keys, members), { issuer: 2, pairs: [{ number: 1 }, { number: 2 }] })
  await dropUnused(etcd, members)
  t.equal(members.authorities().length, 2)
  await members.add(() => ({ id: 'a', certifiedBy: 2, trusts: 2 }) as never)
  await dropUnused(etcd, members)
  t.match(members.authorities(), [{ number: 2 }])
  await t.rejects(authoritiesIn(etcd, keys, before), /no peer authority/)
  t.match(await issuersIn(etcd, keys, members), { issuer: 2, pairs: { length: 1 } })
})

t.test('a caller waits for the end of a change, unless a node is away', async (t) => {
  const clock = manualClock()
  let waits = 0
  const numbers = [1, 2]
  const wait = async (ms: number) => {
    clock.advance(ms)
    if ((waits += 1) === 3) numbers.shift()
  }
  const members = () => known([[1, 1]], numbers)
  await settled(members(), () => false, { clock, wait })
  t.equal(waits, 0)
  const live = { voters: () => [], authorities: () => numbers.map(pair) }
  await settled(live, () => true, { clock, wait })
  t.equal(waits, 3)
  numbers.push(3)
  await settled(live, () => true, { clock, wait })
  t.ok(waits > 50 && waits < 100, 'not for ever')
})

t.test('in the middle of a change, nodes of either authority reach each other, and revoked ones do not', async (t) => {
  const authorities = [await newAuthorities('cluster-1', NOW_MS), await newAuthorities('cluster-1', NOW_MS)] as const
  const pairs = authorities.map((one, index) => ({ ...pairOf(one, `k${index}`, index + 1), authorities: one }))
  const shown = async (nodeId: string, issuer: number, removed: readonly string[] = []) => {
    const { keys, requests } = await newRequests()
    const issuers = { issuer, pairs }
    const certified = await certify(issuers, requests, { nodeId, host: '127.0.0.1', port: 1 }, NOW_MS)
    const gone = { member: { serials: removed }, at: new Date(NOW_MS).toISOString(), stage: 'out' } as never
    const { ofClients } = await revocationOf(issuers, [gone], 1)
    return { ...withKeys(certified, keys).client, crls: ofClients }
  }
  const [old, young] = [await shown('old', 1), await shown('young', 2)]
  const isLetIn = async (server: typeof old, client: typeof old) => {
    const options = { ...secureOptionsOf(server), requestCert: true, rejectUnauthorized: true }
    const listening = createServer(options, (socket) => socket.end('in'))
    listening.on('tlsClientError', () => undefined)
    await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
    const { port } = listening.address() as { port: number }
    const socket: TLSSocket = connect({ ...secureOptionsOf(client), host: '127.0.0.1', port })
    const text = await new Promise<string>((resolve) => {
      let heard = ''
      socket.on('data', (bytes) => (heard += String(bytes)))
      socket.on('error', () => resolve(''))
      socket.on('close', () => resolve(heard))
    })
    listening.close()
    return text === 'in'
  }
  for (const server of [old, young]) for (const client of [old, young]) t.equal(await isLetIn(server, client), true)
  const serial = new X509Certificate(old.certificate).serialNumber
  const knowing = await shown('third', 2, [serial])
  t.equal(await isLetIn(knowing, old), false, 'its list is that of the other authority')
  t.equal(await isLetIn(knowing, young), true)
  const later = { ...young, ca: pairs[1]?.certificates.client ?? '', crls: young.crls.slice(1) }
  t.equal(await isLetIn(later, old), false, 'after the change')
  t.equal(await isLetIn(later, young), true)
})
