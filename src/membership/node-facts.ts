import type { Clock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import type { NodeFacts, NodeFactsReader } from '../context/node-facts.ts'
import { PATIENCE_MS } from './all-nodes.ts'
import type { Membership } from './membership.ts'
import { askNode } from './questions.ts'
import { reasonOf } from '../base/reason.ts'

/** Asks a node for one of its facts. */
export const FACT = '/fact'

type Fact = keyof NodeFacts

const NAMES: Readonly<Record<Fact, true>> = {
  apiPort: true,
  clock: true,
  conntrackSize: true,
  consoleEnabled: true,
  now_ms: true,
  ssh: true,
  timeZones: true,
}
const isFact = (name: unknown): name is Fact => typeof name === 'string' && Object.hasOwn(NAMES, name)

interface OwnParts {
  readonly facts: Omit<NodeFacts, 'apiPort' | 'now_ms'>
  readonly listeners: { readonly port: number }
  readonly clock: Clock
}

/** Facts of this node. */
export const ownFacts = ({ facts, listeners, clock }: OwnParts): NodeFacts => ({
  apiPort: async () => listeners.port,
  clock: () => facts.clock(),
  conntrackSize: () => facts.conntrackSize(),
  consoleEnabled: () => facts.consoleEnabled(),
  now_ms: async () => clock.now_ms(),
  ssh: () => facts.ssh(),
  timeZones: () => facts.timeZones(),
})

interface Parts {
  /** Id of this node in configurations. */
  readonly nodeId: string
  readonly membership: Pick<Membership, 'members' | 'forward'>
  readonly own: NodeFacts
}

/** Returns this node's facts, and asks other nodes for theirs. */
export function createNodeFacts({ nodeId: self, membership, own }: Parts): NodeFactsReader {
  const ask = async (nodeId: string, fact: Fact): Promise<unknown> => {
    try {
      const answer = await askNode(membership, { nodeId, path: FACT, body: { fact }, timeout_ms: PATIENCE_MS })
      return Reflect.get(Object(answer), 'value')
    } catch (error) {
      const name = membership.members.get(nodeId)?.name ?? nodeId
      const why = reasonOf(error)
      const message = `The node ${name}, whose settings these are, did not report the state of its machine (${why}); nothing was changed`
      throw new ApiError('NODE_UNREACHABLE', message, { data: { nodeId, mayBeDone: false } })
    }
  }
  return {
    of(nodeId) {
      if (nodeId === self) return own
      // Sound: all nodes of this version answer the same.
      const asked = (fact: Fact) => async () => (await ask(nodeId, fact)) as never
      return {
        apiPort: asked('apiPort'),
        clock: asked('clock'),
        conntrackSize: asked('conntrackSize'),
        consoleEnabled: asked('consoleEnabled'),
        now_ms: asked('now_ms'),
        ssh: asked('ssh'),
        timeZones: asked('timeZones'),
      }
    },
  }
}

/** Answers other nodes' questions about facts. */
export async function answerFact(own: NodeFacts, question: unknown): Promise<unknown> {
  const fact: unknown = Reflect.get(Object(question), 'fact')
  return isFact(fact) ? { value: await own[fact]() } : undefined
}
