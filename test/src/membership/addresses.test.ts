import t, { type Test } from 'tap'
import type { NodeAddresses } from '../../../src/context/addresses.ts'
import { addressAnswers, Addresses } from '../../../src/membership/addresses.ts'
import { Members } from '../../../src/membership/members.ts'
import { PeerError } from '../../../src/peers/peer-error.ts'
import { openStore, refuses } from '../../fixtures/config.ts'
import { peersThatAnswer } from '../../fixtures/questions.ts'
import { viewOf } from '../../fixtures/view.ts'
import { pair } from '../drivers/vrrp/vrrp-records.ts'

const IP = '10.0.0.100'
const THREE = ['node', 'node-2', 'node-3']

/** Three nodes of which the second has the address, and simplified VRRP: the first allowed node takes it. */
async function three(test: Test, records = pair({ nodes: THREE })) {
  const members = new Members(openStore(test).members)
  for (const id of THREE) await members.add(() => ({ id, name: id, since: id }) as never)
  const state = { holder: 'node-2', away: '', isStuck: false, unready: '', isMember: true }
  const yields: string[] = []
  const resumes: string[] = []
  let waited = 0
  const tells = (id: string): NodeAddresses => ({
    isReady: id !== state.unready,
    why: id === state.unready ? 'its HAProxy does not run' : undefined,
    held: id === state.holder ? [{ ip: IP, since: '2026-01-02T03:04:05.000Z' }] : [],
  })
  const here = (id: string) => ({
    tells: () => tells(id),
    async yield(syncGroup: string) {
      yields.push(`${id} ${syncGroup}`)
      const takes = THREE.find((one) => !yields.some((done) => done.startsWith(`${one} `)))
      if (state.holder === id && !state.isStuck) state.holder = takes ?? id
    },
    resume: async (syncGroup: string) => void resumes.push(`${id} ${syncGroup} while ${state.holder} has it`),
  })
  const forwards = new Map(THREE.map((id) => [id, peersThatAnswer(addressAnswers(() => here(id))).forward]))
  const addresses = new Addresses({
    nodeId: 'node',
    running: viewOf(records),
    membership: {
      members,
      get cluster() {
        return state.isMember ? {} : undefined
      },
      forward: (request) =>
        request.nodeId === state.away
          ? Promise.reject(new PeerError('unreachable', 'it refuses connections'))
          : forwards.get(request.nodeId)!(request),
    },
    here: here('node'),
    wait: async () => void (waited += 1),
  })
  return { addresses, members, state, yields, resumes, waits: () => waited }
}

t.test('every node reports its addresses; one that does not answer is left out', async (test) => {
  const { addresses, state } = await three(test)
  test.same([...(await addresses.all()).keys()], THREE)
  test.match((await addresses.all()).get('node-2'), { held: [{ ip: IP }] })
  state.away = 'node-3'
  test.same([...(await addresses.all()).keys()], ['node', 'node-2'])
})

t.test('the named node takes it, because the others give it away, its holder last', async (test) => {
  const { addresses, state, yields, resumes } = await three(test)
  await addresses.move('fip-0', 'node-3')
  test.equal(state.holder, 'node-3')
  test.same(yields, ['node all', 'node-2 all'])
  test.same(
    resumes,
    ['node', 'node-2'].map((id) => `${id} all while node-3 has it`),
    'and take it when that one fails',
  )
  await addresses.move('fip-0', 'node-3')
  test.equal(yields.length, 2, 'where it already is, nothing is done')
})

t.test('an unreachable node takes nothing, and delays nothing', async (test) => {
  const { addresses, state } = await three(test)
  state.away = 'node-3'
  await addresses.move('fip-0', 'node')
  test.equal(state.holder, 'node')
})

t.test('refused: no cluster, no such address, and a node that cannot have it', async (test) => {
  const { addresses, state, members, yields } = await three(test, pair({ nodes: ['node', 'node-2'] }))
  const move = (id: string, nodeId: string) => addresses.move(id, nodeId)
  const field = async (nodeId: string, message: RegExp) =>
    test.rejects(move('fip-0', nodeId), {
      code: 'INVALID_BODY',
      details: { errors: [{ field: 'nodeId', message }] },
    })
  await refuses(test, 'NOT_FOUND', move('none', 'node'))
  await field('nobody', /there is no node nobody/)
  await field('node-3', /needs an interface and a static IP in the IP group LAN/)
  await members.change('node', (member) => ({ ...member, maintenance: { since: '', by: 'ann' } }))
  await field('node', /is in maintenance: end it first/)
  await members.change('node', ({ maintenance: _maintenance, ...member }) => member)
  state.unready = 'node'
  await field('node', /is not ready: its HAProxy does not run/)
  state.isMember = false
  await refuses(test, 'NOT_FOUND', move('fip-0', 'node'))
  test.same(yields, [], 'and nothing was given away')
})

t.test('NODE_UNREACHABLE: a node that does not answer, and one that does not take it', async (test) => {
  const { addresses, state } = await three(test)
  state.away = 'node-3'
  await refuses(test, 'NODE_UNREACHABLE', addresses.move('fip-0', 'node-3'))
  state.away = ''
  state.isStuck = true
  await refuses(test, 'NODE_UNREACHABLE', addresses.move('fip-0', 'node-3'))
})

t.test('a disabled one is nowhere', async (test) => {
  const records = pair({ nodes: THREE })
  const floatingIps = (records.floatingIps ?? []).map((one) => ({ ...one, enabled: false }))
  const { addresses } = await three(test, { ...records, floatingIps })
  await refuses(test, 'NOT_FOUND', addresses.move('fip-0', 'node'))
})

t.test('a node counts as a possible successor while it is ready and not in maintenance', async (test) => {
  const { addresses, state, members } = await three(test)
  test.ok(await addresses.hasReadyOther())
  state.unready = 'node-2'
  test.ok(await addresses.hasReadyOther())
  await members.change('node-3', (member) => ({ ...member, maintenance: { since: '', by: 'ann' } }))
  test.notOk(await addresses.hasReadyOther())
})

t.test('a leaving node waits until others have its addresses, and reports the ones that stay', async (test) => {
  const { addresses, state, waits } = await three(test)
  state.holder = 'node'
  test.same(await addresses.leave(), [IP])
  const [before] = [waits()]
  const left = addresses.leave()
  state.holder = 'node-2'
  test.same(await left, [])
  test.ok(waits() - before <= 1)
  test.same(await addresses.leave(), [], 'it has none')
})

t.test("the reason why no node could take over a node's addresses", async (test) => {
  const { addresses, state } = await three(test)
  state.holder = 'node-2'
  test.equal(await addresses.whyStuck(), undefined, 'it has none')
  state.holder = 'node'
  test.equal(await addresses.whyStuck(), undefined)
  state.unready = 'node-2'
  state.away = 'node-3'
  test.match(await addresses.whyStuck(), /No other node is ready to take /)
})
