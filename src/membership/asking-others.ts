import { buffer } from 'node:stream/consumers'
import { ApiError } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import type { Asking } from '../context/asking.ts'
import type { ForwardedAnswer } from '../peers/asking.ts'
import type { ForwardedRequest } from '../peers/peer-client.ts'
import { PeerError } from '../peers/peer-error.ts'
import type { Member } from './members.ts'

type Forward = (request: ForwardedRequest) => Promise<ForwardedAnswer>

export interface OthersParts {
  /** Id of this node, which has already done it. */
  readonly self: string
  readonly nodes: readonly Pick<Member, 'id' | 'name'>[]
  readonly forward: Forward
}

/**
 * Sends a request to the other nodes, one after the other.
 *
 * @throws {ApiError} APPLY_PARTIAL at the first that refuses it, with the nodes that had done it by then.
 */
export async function askOthers(
  { self, nodes, forward }: OthersParts,
  { actor, client }: Asking,
  method: string,
  pathOn: (nodeId: string) => string,
): Promise<void> {
  const done = [self]
  const who = { ...actor, address: client.address }
  for (const { id: nodeId, name } of nodes) {
    if (nodeId === self) continue
    const request = { nodeId, method, path: pathOn(nodeId), query: '', headers: {}, requestId: newId(), who }
    const why = await refusalOf(request, forward)
    if (why !== undefined) {
      const states = [
        ...done.map((id) => ({ nodeId: id, ok: true })),
        { nodeId, ok: false, step: 'ask the node', output: why },
      ]
      throw new ApiError('APPLY_PARTIAL', `The node ${name} refused: ${why}`, { data: { nodes: states } })
    }
    done.push(nodeId)
  }
}

/** Returns undefined when the node did it. */
async function refusalOf(request: ForwardedRequest, forward: Forward): Promise<string | undefined> {
  try {
    const { status, body } = await forward(request)
    const text = (await buffer(body)).toString()
    return status < 300 ? undefined : String(Reflect.get(Object(JSON.parse(text)), 'message'))
  } catch (error) {
    if (error instanceof PeerError) return error.message
    throw error
  }
}
