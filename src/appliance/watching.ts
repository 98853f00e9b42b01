import type { Seen } from '../context/capabilities.ts'
import type { AddressesParts } from '../membership/addresses.ts'
import { FigureStreams } from '../stats/figure-streams.ts'
import { clusterOf, createMetrics } from './metrics.ts'
import type { Node } from './node.ts'
import { createOverview } from './overview.ts'

interface Watching extends Pick<Seen<'read'>, 'metrics' | 'overview'> {
  readonly figureStreams: FigureStreams
}

/** Creates the capabilities for watching a node: its metrics, its overview and its streams of live figures. */
export function createWatching(node: Node, here: AddressesParts['here']): Watching {
  const { layer7, layer4 } = node
  const nextTick = () => layer7.waitTick()
  const cluster = clusterOf(node)
  return {
    metrics: createMetrics(node, here, cluster),
    overview: createOverview(node, cluster),
    figureStreams: new FigureStreams({ layer7: layer7.live, layer4: layer4.live, nextTick }),
  }
}
