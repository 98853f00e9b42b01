import { askAll, type AskingAll, CONNECTIONS } from '../membership/all-nodes.ts'
import type { Layer4Stats } from '../stats/layer4-stats.ts'
import type { Layer7Stats } from '../stats/layer7-stats.ts'
import type { Settings } from '../settings.ts'

interface Figures {
  readonly settings: Pick<Settings, 'profile'>
  readonly layer7: Pick<Layer7Stats, 'sessions'>
  readonly layer4: { readonly live: Pick<Layer4Stats['live'], 'connections'> }
}

/**
 * Returns the open connections of both layers to a real server through this node; undefined while one of its backends'
 * counts is unknown. In trial the kernel balances nothing.
 */
export function openConnections({ settings, layer7, layer4 }: Figures, ripId: string): number | undefined {
  const kernel = settings.profile === 'trial' ? [] : layer4.live.connections(ripId)
  return sumOf([...layer7.sessions(ripId), ...kernel])
}

/** Answers another node's question. */
export const toldConnections = (figures: Figures, question: unknown): number | null =>
  openConnections(figures, String(Reflect.get(Object(question), 'ripId'))) ?? null

const isCount = (answer: unknown): answer is number | null => answer === null || typeof answer === 'number'

/** Returns the open connections through all nodes; undefined while those of one node are unknown. */
export async function connectionsOfNodes(
  figures: Figures,
  asking: AskingAll,
  ripId: string,
): Promise<number | undefined> {
  const question = { path: CONNECTIONS, body: { ripId }, isAnswer: isCount, lost: () => null }
  const others = await askAll(asking, question)
  return sumOf([openConnections(figures, ripId), ...others.values()])
}

function sumOf(counts: readonly (number | null | undefined)[]): number | undefined {
  let sum = 0
  for (const count of counts) {
    if (count === undefined || count === null) return undefined
    sum += count
  }
  return sum
}
