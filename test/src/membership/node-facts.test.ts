import t from 'tap'
import { answerFact, createNodeFacts, FACT, ownFacts } from '../../../src/membership/node-facts.ts'
import { Members } from '../../../src/membership/members.ts'
import { stillFacts } from '../../fixtures/appliance.ts'
import { openStore, refuses } from '../../fixtures/config.ts'
import { peersThatAnswer } from '../../fixtures/questions.ts'

const factsOf = (port: number, size: number | undefined) =>
  ownFacts({
    facts: stillFacts({ conntrackSize: async () => size }),
    listeners: { port },
    clock: { now_ms: () => port * 1_000, monotonic_ms: () => 0 },
  })

t.test("a node's own facts, those of a reachable node, and a refusal for an unreachable one", async (t) => {
  const members = new Members(openStore(t).members)
  for (const id of ['a', 'b', 'c']) await members.add(() => ({ id, name: `node ${id}`, since: id }) as never)
  const there = factsOf(2, undefined)
  const { forward } = peersThatAnswer({ [FACT]: (question) => answerFact(there, question) })
  const unreachable = () => Promise.reject(new Error('it is off'))
  const membership = {
    members,
    forward: (request: Parameters<typeof forward>[0]) => (request.nodeId === 'b' ? forward(request) : unreachable()),
  }
  const facts = createNodeFacts({ nodeId: 'a', membership, own: factsOf(1, 1024) })
  t.same([await facts.of('a').apiPort(), await facts.of('a').conntrackSize()], [1, 1024])
  const other = facts.of('b')
  t.same([await other.apiPort(), await other.now_ms(), await other.conntrackSize()], [2, 2_000, undefined])
  t.match(await other.clock(), { timezone: 'Etc/UTC', ntpEnabled: false })
  t.same(await other.ssh(), await there.ssh())
  t.same(await other.consoleEnabled(), false)
  t.same(await other.timeZones(), await there.timeZones())
  const error = await refuses(t, 'NODE_UNREACHABLE', facts.of('c').clock())
  t.match(error.message, /^The node node c, whose settings these are, .*\(it is off\); nothing was changed$/)
  t.same(error.details.data, { nodeId: 'c', mayBeDone: false })
})

t.test('nothing else of a node is revealed', async (t) => {
  const own = factsOf(1, 1)
  for (const question of [{ fact: 'interfaces' }, { fact: 'constructor' }, { fact: 1 }, undefined, 'clock'])
    t.equal(await answerFact(own, question), undefined, JSON.stringify(question))
})
