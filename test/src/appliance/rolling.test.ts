import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createRolling, standingOf } from '../../../src/appliance/rolling.ts'
import type { Node } from '../../../src/appliance/node.ts'
import { Jobs } from '../../../src/jobs/jobs.ts'
import { silentLog } from '../../../src/base/log.ts'
import { isNodeUpdate, type NodeUpdateTold } from '../../../src/machine/updates/node-update.ts'
import { peersThatAnswer } from '../../fixtures/questions.ts'
import { openStore } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const TOLD = { step: '', version: '1', isOwn: true, sequence: 7 }

/** The node `a` of two, while it leads an update of both. */
function leading(test: Test, answer: (asked: unknown) => Promise<unknown>) {
  const told: object[] = []
  const asked: string[] = []
  const clock = manualClock()
  const jobs = new Jobs(openStore(test).jobs, { publish: () => undefined }, clock, silentLog)
  const nodes = ['a', 'b'].map((id) => ({ id, name: id, state: 'online', isVoter: true, maintenance: undefined }))
  const node = {
    nodeId: 'a',
    jobs,
    clock,
    machine: { touchesPackages: true },
    events: { publish: (_: string, data: object) => void told.push(data) },
    access: { assertStill: () => undefined },
    membership: {
      cluster: { position: 7, log: { halted: undefined } },
      state: async () => ({ sequence: 7, nodes }),
      forward: peersThatAnswer({ '/update': answer }).forward,
    },
  } as unknown as Node
  const share = async ({ by }: { by: string }): Promise<NodeUpdateTold> => {
    asked.push(by)
    return { ...TOLD, state: 'succeeded' }
  }
  const addresses = {
    all: async () => new Map([['a', { isReady: true, why: undefined, held: [{ ip: 'x', since: '' }] }]]),
  }
  const rolling = createRolling(node, { shareOf: share } as never, addresses as never)
  const ended = async (id: string) => {
    while (jobs.get(id).state === 'running') await turn()
    return jobs.get(id)
  }
  return { rolling, ended, told, asked, node, jobs }
}

t.test('another node is asked through its port, this one directly, and holders of addresses come last', async (t) => {
  const questions: unknown[] = []
  const { rolling, ended, told, asked, node } = leading(t, async (question) => {
    questions.push(isNodeUpdate(question))
    return { ...TOLD, state: 'succeeded' }
  })
  t.same(standingOf(node), { sequence: 7 })
  const { job, isDryRun } = await rolling.start('webui', { userId: 'u', email: 'ann', sessionId: 's' })
  t.equal(isDryRun, false)
  t.match(await ended(job), { state: 'succeeded' })
  t.ok(questions.length >= 3 && questions.every((one) => one === true))
  t.ok(asked.every((by) => by === 'ann'))
  t.match(told, [{ state: 'node updated', nodeId: 'b' }, { nodeId: 'a' }])
})

t.test('an answer of an unknown kind counts as none', async (t) => {
  const { rolling, jobs } = leading(t, async () => ({ something: 'else' }))
  const { job } = await rolling.start('webui', { userId: 'u', email: 'ann', sessionId: 's' })
  while (!jobs.get(job).step.includes('cannot read its answer')) await turn()
  jobs.cancel(job)
})
