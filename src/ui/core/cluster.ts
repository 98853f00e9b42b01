import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { ask, Refused } from './api.ts'
import { whenForgotten } from './session.ts'

/** The cluster of the node that served the page, as that node sees it. */

export type Reached = 'online' | 'unreachable' | 'unknown'

export interface Member {
  readonly id: string
  readonly name: string
  readonly address: string
  readonly state: Reached
  readonly isVoter: boolean
  readonly isLeader: boolean
  readonly certificateEnd: string | null
  readonly version: string
  readonly since: string
}

export interface ClusterNode extends Member {
  readonly isSelf: boolean
  readonly ahead: number
  readonly maintenance: { readonly since: string; readonly by: string; readonly reason?: string } | null
  readonly isReady: boolean | null
  readonly floatingIps: readonly string[]
}

export interface ClusterState {
  readonly id: string
  readonly name: string
  readonly quorum: boolean
  readonly halted: string | null
  readonly removedAt: string | null
  readonly histories: {
    readonly nodeId: string
    readonly edits: { readonly here: number; readonly there: number }
  } | null
  readonly nodes: readonly ClusterNode[]
  readonly witness: Member | null
  readonly spareVotes: number
}

/** `null` if the node is in no cluster; undefined until that is known. */
export const cluster = signal<ClusterState | null | undefined>(undefined)
export const clusterProblem = signal<string | undefined>(undefined)

whenForgotten(() => (cluster.value = undefined))

const LOOK_MS = 2_000
/** A node that has just joined rebuilds itself, and does not answer meanwhile. */
const ANSWER_MS = 10_000

export async function lookAtCluster(): Promise<void> {
  try {
    const { data } = await ask<ClusterState | null>('GET', '/cluster', { signal: AbortSignal.timeout(ANSWER_MS) })
    cluster.value = data
    clusterProblem.value = undefined
  } catch (error) {
    // Without an answer, the last state stays, and the header says that the daemon is away.
    if (error instanceof Refused) clusterProblem.value = error.message
  }
}

/** Reads the state repeatedly while a component shows it. */
export function useCluster(): ClusterState | null | undefined {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let isOver = false
    const look = () =>
      void lookAtCluster().then(() => {
        if (!isOver) timer = setTimeout(look, LOOK_MS)
      })
    look()
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [])
  return cluster.value
}

/** Returns the nodes and the witness. */
export const membersOf = ({ nodes, witness }: ClusterState): readonly Member[] =>
  witness === null ? nodes : [...nodes, witness]
