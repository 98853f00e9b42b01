import t from 'tap'
import { newNodeRequest } from '../../../src/cluster/authority.ts'
import { admitWitness, refuseWitness } from '../../../src/membership/witness-admission.ts'
import { refuses } from '../../fixtures/config.ts'
import { twoNodes } from '../../fixtures/witnessed.ts'

async function admitting(test: Parameters<typeof twoNodes>[0]) {
  const nodes = await twoNodes(test)
  const { request } = await newNodeRequest()
  const applicant = { id: 'w', name: 'third site', host: '192.0.2.9', port: 9444, version: '1.0.0', request }
  const take = (more: Partial<typeof applicant> = {}) =>
    admitWitness({ ...nodes, wait: async () => undefined }, { ...applicant, ...more })
  return { ...nodes, take }
}

t.test('a witness receives what it needs to vote, and no key of the cluster', async (t) => {
  const { members, listed, take, keys } = await admitting(t)
  const welcome = await take()
  t.same(Object.keys(welcome).toSorted(), ['certified', 'clusterId', 'members', 'name', 'nodes', 'trust'])
  const text = JSON.stringify(welcome)
  for (const { key } of keys.stored()) t.notOk(text.includes(key))
  t.notMatch(text, /PRIVATE/)
  t.same(Object.keys(welcome.members), ['a', 'b', 'w'])
  t.match(listed[2], { isLearner: true, peerUrls: ['https://192.0.2.9:9446'] })
  await take()
  t.same([listed.length, members.witness?.serials.length], [3, 2], 'again, when the answer was lost')
})

t.test('one witness, with its own name, address and key', async (t) => {
  const { members, take } = await admitting(t)
  await refuses(t, 'NAME_NOT_UNIQUE', take({ name: 'LEFT' }))
  const { host = '', port = 0 } = members.get('b') ?? {}
  await refuses(t, 'IN_USE', take({ host, port }))
  t.equal(members.witness, undefined)
  await take()
  await refuses(t, 'LIMIT_REACHED', take({ id: 'x', name: 'another', host: '192.0.2.10' }))
  const { request } = await newNodeRequest()
  await refuses(t, 'ID_NOT_UNIQUE', take({ request }))
})

t.test('it does not join while a node has no vote', async (t) => {
  const { listed, take, members } = await admitting(t)
  listed.pop()
  t.match((await refuses(t, 'NO_QUORUM', take())).message, /^right has no vote/)
  t.equal(members.witness, undefined)
})

t.test('where one can join at all', async (t) => {
  const among = (count: number, level = 3) => ({
    all: () => Array.from({ length: count }) as never,
    level,
    witness: undefined,
  })
  refuseWitness(among(2))
  const error = await refuses(t, 'INVALID_BODY', () => refuseWitness(among(1)))
  t.match(error.details.errors, [{ field: 'role' }])
  await refuses(t, 'NOT_SUPPORTED', () => refuseWitness(among(2, 2)))
})
