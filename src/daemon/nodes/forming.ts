import { setTimeout as sleep } from 'node:timers/promises'
import { NodeApi } from './node-api.ts'
import type { NodeProcess } from './node-process.ts'
import { addressText, type NodePlace } from './places.ts'

/** The fields of `GET /cluster` that are polled. */
interface ClusterSeen {
  readonly nodes: readonly { readonly isVoter: boolean; readonly state: string }[]
}

export interface Login {
  readonly email: string
  readonly password: string
}

const ALL_VOTE_MS = 60_000
const LOOK_MS = 200
const NAME = 'trial'

/** Forms one cluster of nodes that are in none, in the ordinary way: through their APIs. */
export async function formCluster(
  nodes: readonly NodeProcess[],
  loginOf: (node: NodeProcess) => Login,
  tell: (line: string) => void,
): Promise<void> {
  const [first, ...others] = nodes
  if (first === undefined) return
  const ofAll = loginOf(first)
  const api = await apiOf(first, ofAll)
  await begunAnew(first, () => api.post('/cluster', { name: NAME, ...memberOf(first.place) }))
  await api.login(ofAll.email, ofAll.password)
  tell(`${titleOf(first, nodes)} has created the cluster`)
  for (const node of others) {
    const { token } = await api.post<{ readonly token: string }>('/cluster/tokens', {})
    const own = await apiOf(node, loginOf(node))
    await begunAnew(node, () => own.post('/cluster/join', { token, ...memberOf(node.place) }))
    tell(`${titleOf(node, nodes)} has joined`)
  }
  await allVote(api, nodes.length)
  tell(`all ${nodes.length} reach each other and vote`)
}

async function apiOf({ place }: NodeProcess, { email, password }: Login): Promise<NodeApi> {
  const api = new NodeApi(place)
  await api.login(email, password)
  return api
}

const memberOf = ({ number, peer }: NodePlace) => ({ address: addressText(peer), nodeName: `node-${number}` })

export const titleOf = ({ place }: NodeProcess, { length }: readonly unknown[]): string =>
  `node ${place.number} of ${length}`

/**
 * Runs a change after which the node restarts its appliance, as after forming or joining a cluster, and waits for that.
 */
async function begunAnew(node: NodeProcess, change: () => Promise<unknown>): Promise<void> {
  const anew = node.runs()
  await Promise.all([anew, change()])
}

async function allVote(api: NodeApi, nodes: number): Promise<void> {
  const deadline_ms = performance.now() + ALL_VOTE_MS
  const isWhole = ({ nodes: seen }: ClusterSeen) =>
    seen.length === nodes && seen.every(({ isVoter, state }) => isVoter && state === 'online')
  while (!isWhole(await api.get<ClusterSeen>('/cluster'))) {
    if (performance.now() > deadline_ms) throw new Error(`not all nodes vote after ${ALL_VOTE_MS / 1000} s`)
    await sleep(LOOK_MS)
  }
}
